-- The current schema of a ragdb store, column by column: what an auditor reads first. Never executed: a store is made
-- by migrations/ alone, and a test holds that the two give the same structure.
--
-- application_id is 0x72616764 ('ragd'), user_version is the number of migrations. Hashes are lower-case hex, times are
-- RFC 3339 UTC text, lists are JSON. Lines begin at 1, bytes at 0.

-- One setting of the store: store_id, created_at, created_by, policy (JSON), policy_digest, acl (the rules of all access
-- classes, as reads use them: a copy of what stands in acl_classes and acl_members), acl_groups (declared groups),
-- unfinished_purge (what a purge left to do: `file`, to write it anew, or `log`, to empty it).
CREATE TABLE settings (
  key TEXT PRIMARY KEY,  -- the setting's name
  value TEXT NOT NULL  -- its value, as text
) STRICT, WITHOUT ROWID;

-- One published sync. `digest` is SHA-256 over the parent's digest, the number, the policy digest and, document by
-- document in order of id, the ids and content hashes of the chunks removed and added. It can be computed again from
-- `chunks` and `tombstones`; `ragdb check` does.
CREATE TABLE generations (
  generation INTEGER PRIMARY KEY CHECK (generation >= 1),  -- 1 for the first, then one more each
  parent INTEGER REFERENCES generations (generation),  -- the generation it was made from; NULL for the first
  published_at TEXT NOT NULL,  -- UTC, RFC 3339
  documents_added INTEGER NOT NULL,  -- documents that were not there before
  documents_updated INTEGER NOT NULL,  -- documents whose content, title or metadata changed
  documents_deleted INTEGER NOT NULL,  -- documents whose file or source is gone
  documents_unchanged INTEGER NOT NULL,  -- documents of the sources read that stayed as they were
  documents_failed INTEGER NOT NULL,  -- files that it was published without: see sync_failures
  chunks_added INTEGER NOT NULL,  -- chunk ids that were not there before
  chunks_removed INTEGER NOT NULL,  -- chunk ids that are gone: see tombstones
  chunks_reused INTEGER NOT NULL,  -- chunk ids of changed documents that stayed
  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),  -- SHA-256 of the policy it was indexed under
  digest TEXT NOT NULL CHECK (length(digest) = 64),  -- see above; hex
  parent_digest TEXT CHECK (length(parent_digest) = 64),  -- the parent's digest
  tool_version TEXT NOT NULL,  -- the ragdb that published it
  record_hash TEXT NOT NULL CHECK (length(record_hash) = 64),  -- SHA-256 over the other columns
  acl_epoch INTEGER NOT NULL DEFAULT 0 CHECK (acl_epoch >= 0),  -- the epoch of the access rules when it was published
  CHECK ((parent IS NULL) = (parent_digest IS NULL))
) STRICT;

-- A declared source. Lists are JSON arrays of strings.
CREATE TABLE sources (
  source_no INTEGER PRIMARY KEY,  -- internal number
  source_id TEXT NOT NULL UNIQUE,  -- the declared id, part of each document's identity
  kind TEXT NOT NULL CHECK (kind IN ('markdown', 'text')),  -- markdown: .md .markdown .mdx; text: .txt
  root TEXT NOT NULL,  -- its folder, as seen from the folder of this file
  -- declared_by: ragdb.yaml, or a folder on the command line
  declared_by TEXT NOT NULL CHECK (declared_by IN ('config', 'argument')),
  scope TEXT,  -- a label
  -- visibility: how widely its documents may be read
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'internal', 'private')),
  tenant TEXT,  -- whom it belongs to
  groups TEXT NOT NULL CHECK (json_valid(groups)),  -- groups that may read it
  include TEXT NOT NULL CHECK (json_valid(include)),  -- patterns of files to take
  exclude TEXT NOT NULL CHECK (json_valid(exclude)),  -- patterns to leave out
  -- required_metadata: front matter fields that each document must have
  required_metadata TEXT NOT NULL CHECK (json_valid(required_metadata)),
  hidden INTEGER NOT NULL CHECK (hidden IN (0, 1)),  -- 1: names that begin with a dot are read too
  -- respect_gitignore: 1: what .gitignore files below its folder leave out is left out
  respect_gitignore INTEGER NOT NULL CHECK (respect_gitignore IN (0, 1)),
  max_file_bytes INTEGER NOT NULL,  -- a larger file is refused
  -- trust: reviewed: what the unsafe gate finds in this source's documents does not keep them from being evidence
  trust TEXT NOT NULL DEFAULT 'none' CHECK (trust IN ('none', 'reviewed')),
  reviewed TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(reviewed))  -- patterns of the documents that are reviewed
) STRICT;

-- A live document: one file. The columns that end in _digest are the bytes of the generated hex columns below them: half
-- the size, and `SELECT *` shows both.
CREATE TABLE documents (
  document_no INTEGER PRIMARY KEY,  -- internal number
  document_digest BLOB NOT NULL CHECK (length(document_digest) = 16),
  -- document_id: first 32 hex digits of SHA-256 over source id, NUL, path (NFC)
  document_id TEXT GENERATED ALWAYS AS (lower(hex(document_digest))) VIRTUAL UNIQUE,
  source_no INTEGER NOT NULL REFERENCES sources (source_no),  -- its source
  path TEXT NOT NULL,  -- below the source's root, with /
  title TEXT NOT NULL,  -- front matter title, else first H1, else file name
  lang TEXT NOT NULL,  -- ISO 639 code from front matter or a guess; und
  revision INTEGER NOT NULL CHECK (revision >= 1),  -- 1, then one more for each published change of content
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),
  content_hash TEXT GENERATED ALWAYS AS (lower(hex(content_digest))) VIRTUAL,  -- SHA-256 of the file, hex
  size_bytes INTEGER NOT NULL,  -- of the file
  lines INTEGER NOT NULL,  -- of the file
  front_matter TEXT CHECK (front_matter IS NULL OR json_valid(front_matter)),  -- as a JSON object; NULL where there is none
  generation_added INTEGER NOT NULL REFERENCES generations (generation),  -- the generation that brought it
  -- generation_updated: the generation that last changed it or its chunks
  generation_updated INTEGER NOT NULL REFERENCES generations (generation),
  record_digest BLOB NOT NULL CHECK (length(record_digest) = 32),
  record_hash TEXT GENERATED ALWAYS AS (lower(hex(record_digest))) VIRTUAL,  -- SHA-256 over this row and its chunks, hex
  mtime_ns INTEGER,  -- file stamps of the fast path, nanoseconds since 1970;
  ctime_ns INTEGER,  -- NULL where they were too fresh to be trusted
  inode INTEGER,  -- likewise
  trust TEXT NOT NULL DEFAULT 'none' CHECK (trust IN ('none', 'reviewed')),  -- as its source says of it
  class_no INTEGER REFERENCES acl_classes (class_no),  -- its access class; never NULL
  -- class_generation: the generation that brought it into its class; 0 in class 0. Who reads the class sees no earlier one
  class_generation INTEGER NOT NULL DEFAULT 0 CHECK (class_generation >= 0),
  UNIQUE (source_no, path)
) STRICT;

CREATE UNIQUE INDEX documents_by_class ON documents (class_no, document_digest);

-- What is stored of a live chunk: what its document's row and its own text say already is left out. Read `chunks`, a view.
CREATE TABLE chunk_rows (
  -- chunk_no: access class of the document × 2^32 + a number in the class; never used twice; postings refer to it
  chunk_no INTEGER PRIMARY KEY,
  document_no INTEGER NOT NULL REFERENCES documents (document_no),  -- its document
  chunk_index INTEGER NOT NULL,  -- its place in the document, from 0
  start_line INTEGER NOT NULL,  -- from 1
  end_line INTEGER NOT NULL,  -- included
  start_byte INTEGER NOT NULL,  -- in the file, from 0
  token_count INTEGER NOT NULL,  -- terms that the lexer counts in title, headings and text
  heading_only INTEGER NOT NULL CHECK (heading_only IN (0, 1)),  -- 1: a heading alone; stored, never scored
  generation_added INTEGER NOT NULL REFERENCES generations (generation),  -- the generation that brought the id
  repeat INTEGER NOT NULL,  -- 0, 1, … for equal texts in one document
  -- under_title: 1: the outermost heading above it is the document's title, and `headings` begins below it
  under_title INTEGER NOT NULL CHECK (under_title IN (0, 1)),
  -- unsafe_reason: the rule and place (an object: rule, line, start_byte, end_byte) for which it is never scored
  unsafe_reason TEXT CHECK (unsafe_reason IS NULL OR json_valid(unsafe_reason)),
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),  -- content_hash as bytes
  composition_digest BLOB NOT NULL CHECK (length(composition_digest) = 16),  -- composition_hash as bytes
  headings TEXT NOT NULL CHECK (json_valid(headings) AND substr(headings, 1, 1) = '['),  -- headings above it, outermost first: a JSON array
  text TEXT NOT NULL,  -- the lines, verbatim
  -- id_in_document: its id without the document's
  id_in_document TEXT GENERATED ALWAYS AS (lower(hex(substr(content_digest, 1, 8))) || ':' || repeat) VIRTUAL,
  content_hash TEXT GENERATED ALWAYS AS (lower(hex(content_digest))) VIRTUAL,  -- SHA-256 of text, hex
  -- composition_hash: of title, heading path and text: what is indexed
  composition_hash TEXT GENERATED ALWAYS AS (lower(hex(composition_digest))) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX chunks_by_document ON chunk_rows (document_no, chunk_index);

CREATE INDEX chunks_unsafe ON chunk_rows (chunk_no) WHERE unsafe_reason IS NOT NULL;

-- View: a live chunk: whole lines of its document, verbatim.
CREATE VIEW chunks AS
SELECT
  r.chunk_no,
  r.document_no,
  r.chunk_index,
  r.start_line,
  r.end_line,
  r.start_byte,
  r.start_byte + length(CAST(r.text AS BLOB)) AS end_byte,  -- behind its last byte; the last line's end is left out
  r.token_count,
  r.heading_only,
  r.generation_added,
  (SELECT d.document_digest FROM documents d WHERE d.document_no = r.document_no) AS document_digest,
  r.content_digest,
  r.repeat,
  r.composition_digest,
  -- heading_path: headings above it, outermost first: a JSON array
  CASE r.under_title WHEN 0 THEN r.headings ELSE (
    SELECT '[' || json_quote(d.title) || CASE r.headings WHEN '[]' THEN ']' ELSE ',' || substr(r.headings, 2) END
    FROM documents d WHERE d.document_no = r.document_no
  ) END AS heading_path,
  r.text,
  -- chunk_id: document id : 16 hex digits of the content hash : repeat
  (SELECT d.document_id FROM documents d WHERE d.document_no = r.document_no) || ':' || r.id_in_document AS chunk_id,
  r.content_hash,
  r.composition_hash,
  r.unsafe_reason
FROM chunk_rows r;

-- Something that was there: a document, or a chunk. Never its text.
CREATE TABLE tombstones (
  tombstone_no INTEGER PRIMARY KEY,  -- internal number
  kind TEXT NOT NULL CHECK (kind IN ('document', 'chunk')),  -- what it was
  id TEXT NOT NULL,  -- its document_id or chunk_id
  document_id TEXT NOT NULL CHECK (length(document_id) = 32),  -- the document it was, or was in
  source_id TEXT NOT NULL,  -- the source
  path TEXT NOT NULL,  -- the document's path
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),  -- SHA-256 of what it was
  generation_added INTEGER NOT NULL REFERENCES generations (generation),  -- the generation that brought it
  generation_deleted INTEGER NOT NULL REFERENCES generations (generation),  -- the generation that removed it
  reason TEXT NOT NULL CHECK (reason IN (  -- why
    'file_deleted', 'text_changed', 'policy_changed', 'source_removed', 'rolled_back', 'purged'
  )),
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),  -- the access class that it was in
  class_generation INTEGER NOT NULL CHECK (class_generation >= 0)  -- of its document, then
) STRICT;

CREATE INDEX tombstones_by_id ON tombstones (class_no, id);

CREATE INDEX tombstones_by_generation ON tombstones (class_no, generation_deleted);

-- A file that a generation was published without (--keep-going). An earlier version of it may still be live.
CREATE TABLE sync_failures (
  generation INTEGER NOT NULL REFERENCES generations (generation),  -- the generation
  source_id TEXT NOT NULL,  -- the source
  path TEXT NOT NULL,  -- below the source's root
  code TEXT NOT NULL,  -- the refusal's stable code
  message TEXT NOT NULL,  -- what is wrong
  PRIMARY KEY (generation, source_id, path, code)
) STRICT, WITHOUT ROWID;

-- View: chunk, document, source and generation in one flat row.
CREATE VIEW provenance AS
SELECT
  c.chunk_id,
  d.path || '#L' || c.start_line || '-L' || c.end_line AS citation,
  s.source_id,
  d.path,
  d.document_id,
  d.title,
  c.heading_path,
  c.chunk_index,
  c.start_line,
  c.end_line,
  c.start_byte,
  c.end_byte,
  c.content_hash,
  d.content_hash AS document_hash,
  d.revision,
  d.lang,
  s.scope,
  s.visibility,
  s.tenant,
  c.generation_added,
  g.published_at,
  g.digest AS generation_digest,
  c.text
FROM chunks c
JOIN documents d USING (document_no)
JOIN sources s USING (source_no)
JOIN generations g ON g.generation = c.generation_added;

-- View: documents that kept an older version because their file, or a folder above it, failed in the newest generation.
CREATE VIEW audit_stale AS
SELECT
  f.source_id,
  f.path,
  f.code,
  f.message,
  f.generation AS failed_in,
  d.document_id,
  d.generation_updated AS indexed_in
FROM sync_failures f
JOIN sources s USING (source_id)
JOIN documents d ON d.source_no = s.source_no
  AND (d.path = f.path OR f.path = '.' OR substr(d.path, 1, length(f.path) + 1) = f.path || '/')
WHERE f.generation = (SELECT max(generation) FROM generations);

-- View: tombstones with the time of their generation.
CREATE VIEW audit_deleted AS
SELECT
  t.kind,
  t.id,
  t.source_id,
  t.path,
  t.content_hash,
  t.generation_added,
  t.generation_deleted,
  g.published_at AS deleted_at,
  t.reason
FROM tombstones t
JOIN generations g ON g.generation = t.generation_deleted;

-- View: whether each generation's parent_digest is its parent's digest.
CREATE VIEW audit_chain AS
SELECT
  g.generation,
  g.published_at,
  g.digest,
  g.parent_digest,
  g.parent IS NULL OR g.parent_digest = p.digest AS linked
FROM generations g
LEFT JOIN generations p ON p.generation = g.parent;

-- View: texts that stand in more than one place.
CREATE VIEW audit_repeated AS
SELECT
  c.content_hash,
  count(*) AS places,
  min(d.path || '#L' || c.start_line || '-L' || c.end_line) AS first_citation
FROM chunks c
JOIN documents d USING (document_no)
WHERE NOT c.heading_only
GROUP BY c.content_hash
HAVING count(*) > 1;

-- The BM25 index: one immutable segment of postings, over a contiguous range of chunk numbers of one access class. N is
-- the sum of `indexed` less the sum of `dead_chunks`, over the classes that are searched; the total length likewise. Both
-- are exact.
CREATE TABLE segments (
  segment INTEGER PRIMARY KEY CHECK (segment >= 1),  -- internal number, newest highest
  -- generation: the newest generation merged into it
  generation INTEGER NOT NULL REFERENCES generations (generation) DEFERRABLE INITIALLY DEFERRED,
  first_chunk INTEGER NOT NULL CHECK (first_chunk >= 0),  -- the first chunk number it covers
  chunks INTEGER NOT NULL CHECK (chunks >= 0),  -- how many numbers it covers
  -- indexed: of these, chunks that had postings when it was written
  indexed INTEGER NOT NULL CHECK (indexed BETWEEN 0 AND chunks),
  total_length INTEGER NOT NULL CHECK (total_length >= 0),  -- the sum of their lengths, in terms
  dead_chunks INTEGER NOT NULL CHECK (dead_chunks >= 0),  -- chunks of older segments that died when it was written
  dead_length INTEGER NOT NULL CHECK (dead_length >= 0),  -- the sum of their lengths
  -- average_length: over its class when it was written: impacts rest on it
  average_length REAL NOT NULL CHECK (average_length > 0),
  first_row INTEGER NOT NULL,  -- its first row of posting_blocks
  rows INTEGER NOT NULL CHECK (rows >= 0),  -- how many rows of posting_blocks it has
  class_no INTEGER NOT NULL DEFAULT 0 CHECK (class_no >= 0)  -- the access class of its chunks
) STRICT;

CREATE INDEX segments_by_class ON segments (class_no, segment);

-- A term of a segment with its posting list. df over the whole index is the sum of `df` less the sum of `dead`.
-- A list of one block stands in `data` behind one byte with its widths. A longer one has in `data` a skip entry of 11
-- bytes a block: last chunk (4), row of posting_blocks from the segment's first (3), place in the row (12 bits) and
-- widths (4 bits), impact (2). All integers are big-endian; audit_postings decodes them.
CREATE TABLE terms (
  segment INTEGER NOT NULL,  -- the segment
  term TEXT NOT NULL,  -- as the lexer made it
  df INTEGER NOT NULL CHECK (df >= 0),  -- postings in this segment, dead ones included
  dead INTEGER NOT NULL CHECK (dead >= 0),  -- postings of older segments that died when it was written
  -- max_impact: the largest impact of a block: upper bound of tf/(tf + norm) × 65535
  max_impact INTEGER NOT NULL CHECK (max_impact BETWEEN 0 AND 65535),
  base INTEGER NOT NULL CHECK (base >= 0),  -- first chunk of the list, from the segment's first
  blocks INTEGER NOT NULL CHECK (blocks >= 0),  -- skip entries in data; 0 where the list is inline
  data BLOB NOT NULL,  -- see above
  PRIMARY KEY (segment, term)
) STRICT, WITHOUT ROWID;

-- Blocks of up to 128 postings, several to a row of at most one page: gaps less one at one width, then term frequencies
-- at one width.
CREATE TABLE posting_blocks (
  block_row INTEGER PRIMARY KEY,  -- internal number
  data BLOB NOT NULL  -- the blocks
) STRICT;

-- Lengths of 2,000 chunks in terms, two big-endian bytes each (65535 and more saturate); 0 for a chunk that is dead or
-- has no postings.
CREATE TABLE chunk_lengths (
  -- page: access class × 2147484 + number in the class / 2000: no class begins inside another's page
  page INTEGER PRIMARY KEY CHECK (page >= 0),
  lengths BLOB NOT NULL CHECK (length(lengths) = 4000)  -- the lengths
) STRICT;

-- View: segments with their number of terms.
CREATE VIEW audit_segments AS
SELECT
  segment, generation, first_chunk, chunks, indexed, total_length, dead_chunks, dead_length, average_length, first_row,
  rows, (SELECT count(*) FROM terms WHERE terms.segment = segments.segment) AS terms
FROM segments;

-- View: each term with its exact df.
CREATE VIEW audit_terms AS
SELECT term, sum(df) - sum(dead) AS df FROM terms GROUP BY term HAVING sum(df) > sum(dead);

-- View: each indexed live chunk with its length.
CREATE VIEW audit_lengths AS
WITH RECURSIVE slot (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM slot WHERE i < 1999)
SELECT chunk_no, length
FROM (
  SELECT
    page / 2147484 * 4294967296 + page % 2147484 * 2000 + i AS chunk_no,
    instr('123456789ABCDEF', substr(hex(substr(lengths, 1 + 2 * i, 1)), 1, 1)) * 4096
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 1 + 2 * i, 1)), 2, 1)) * 256
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 2 + 2 * i, 1)), 1, 1)) * 16
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 2 + 2 * i, 1)), 2, 1)) AS length
  FROM chunk_lengths CROSS JOIN slot
)
WHERE length > 0;

-- View: every posting, decoded in plain SQL; name a term (`WHERE term = 'refund'`), for the whole is slow.
-- Postings of dead chunks have no chunk_id.
CREATE VIEW audit_postings AS
WITH RECURSIVE
slot (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM slot WHERE i < 127),
block (b) AS (
  SELECT 0 UNION ALL SELECT b + 1 FROM block WHERE b < (SELECT max(chunks) FROM segments) / 128
),
listed AS (
  SELECT
    segments.segment, segments.first_chunk, segments.first_row, terms.term, terms.base, terms.blocks, block.b,
    min(128, terms.df - 128 * block.b) AS postings, terms.data,
    CASE WHEN terms.blocks = 0 THEN hex(substr(terms.data, 1, 1)) ELSE hex(substr(terms.data, 1 + 11 * block.b, 11)) END
      AS entry,
    CASE WHEN block.b > 0 THEN hex(substr(terms.data, 11 * block.b - 10, 4)) END AS last_before
  FROM segments
  CROSS JOIN terms ON terms.segment = segments.segment
  CROSS JOIN block ON block.b < (terms.df + 127) / 128
),
placed AS (
  SELECT
    listed.segment, listed.first_chunk, listed.term, listed.b, listed.postings,
    CASE WHEN listed.blocks = 0 THEN listed.data ELSE posting_blocks.data END AS data,
    CASE
      WHEN listed.blocks = 0 THEN 1
      ELSE instr('123456789ABCDEF', substr(entry, 15, 1)) * 256 + instr('123456789ABCDEF', substr(entry, 16, 1)) * 16
        + instr('123456789ABCDEF', substr(entry, 17, 1))
    END AS offset,
    instr('123456789ABCDEF', substr(entry, CASE WHEN listed.blocks = 0 THEN 2 ELSE 18 END, 1)) AS widths,
    CASE
      WHEN listed.b = 0 THEN listed.base
      ELSE 1 + instr('123456789ABCDEF', substr(last_before, 1, 1)) * 268435456
        + instr('123456789ABCDEF', substr(last_before, 2, 1)) * 16777216
        + instr('123456789ABCDEF', substr(last_before, 3, 1)) * 1048576
        + instr('123456789ABCDEF', substr(last_before, 4, 1)) * 65536
        + instr('123456789ABCDEF', substr(last_before, 5, 1)) * 4096
        + instr('123456789ABCDEF', substr(last_before, 6, 1)) * 256
        + instr('123456789ABCDEF', substr(last_before, 7, 1)) * 16
        + instr('123456789ABCDEF', substr(last_before, 8, 1))
    END AS base
  FROM listed LEFT JOIN posting_blocks ON listed.blocks > 0 AND posting_blocks.block_row = listed.first_row
    + instr('123456789ABCDEF', substr(entry, 9, 1)) * 1048576 + instr('123456789ABCDEF', substr(entry, 10, 1)) * 65536
    + instr('123456789ABCDEF', substr(entry, 11, 1)) * 4096 + instr('123456789ABCDEF', substr(entry, 12, 1)) * 256
    + instr('123456789ABCDEF', substr(entry, 13, 1)) * 16 + instr('123456789ABCDEF', substr(entry, 14, 1))
),
cut AS (
  SELECT
    segment, first_chunk, term, b, i, base,
    substr('000000' || hex(substr(data, 1 + offset + i * (widths % 4 + 1), widths % 4 + 1)), -8) AS gap,
    CASE widths / 4
      WHEN 0 THEN '00000001'
      WHEN 1 THEN '000000' || hex(substr(data, 1 + offset + postings * (widths % 4 + 1) + i, 1))
      WHEN 2 THEN '0000' || hex(substr(data, 1 + offset + postings * (widths % 4 + 1) + i * 2, 2))
      ELSE hex(substr(data, 1 + offset + postings * (widths % 4 + 1) + i * 4, 4))
    END AS tf
  FROM placed CROSS JOIN slot ON slot.i < postings
),
decoded AS (
  SELECT
    segment, term,
    first_chunk + base + i + sum(
      instr('123456789ABCDEF', substr(gap, 1, 1)) * 268435456 + instr('123456789ABCDEF', substr(gap, 2, 1)) * 16777216
      + instr('123456789ABCDEF', substr(gap, 3, 1)) * 1048576 + instr('123456789ABCDEF', substr(gap, 4, 1)) * 65536
      + instr('123456789ABCDEF', substr(gap, 5, 1)) * 4096 + instr('123456789ABCDEF', substr(gap, 6, 1)) * 256
      + instr('123456789ABCDEF', substr(gap, 7, 1)) * 16 + instr('123456789ABCDEF', substr(gap, 8, 1))
    ) OVER (PARTITION BY segment, term, b ORDER BY i) AS chunk_no,
    instr('123456789ABCDEF', substr(tf, 1, 1)) * 268435456 + instr('123456789ABCDEF', substr(tf, 2, 1)) * 16777216
    + instr('123456789ABCDEF', substr(tf, 3, 1)) * 1048576 + instr('123456789ABCDEF', substr(tf, 4, 1)) * 65536
    + instr('123456789ABCDEF', substr(tf, 5, 1)) * 4096 + instr('123456789ABCDEF', substr(tf, 6, 1)) * 256
    + instr('123456789ABCDEF', substr(tf, 7, 1)) * 16 + instr('123456789ABCDEF', substr(tf, 8, 1)) AS tf
  FROM cut
)
SELECT decoded.segment, decoded.term, decoded.chunk_no, decoded.tf, chunks.chunk_id
FROM decoded LEFT JOIN chunks ON chunks.chunk_no = decoded.chunk_no;

-- A place in a document where a rule of the unsafe gate matched: text that tries to instruct the model that reads it.
-- What makes a document's chunks unsafe, unless the document is reviewed.
CREATE TABLE unsafe_findings (
  document_no INTEGER NOT NULL REFERENCES documents (document_no),  -- its document
  finding_no INTEGER NOT NULL,  -- 0, 1, … in order of place
  rule TEXT NOT NULL,  -- the rule's id, such as override.en
  start_line INTEGER NOT NULL,  -- from 1
  end_line INTEGER NOT NULL,  -- included
  start_byte INTEGER NOT NULL,  -- of the match, in the file, from 0
  end_byte INTEGER NOT NULL,  -- behind its last byte
  PRIMARY KEY (document_no, finding_no)
) STRICT, WITHOUT ROWID;

-- One evidence prompt: what was asked, under what settings, and what the prompt came to. Its manifest can be made
-- again from here, run_hits and run_events.
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY CHECK (length(run_id) = 32),  -- random
  created_at TEXT NOT NULL,  -- UTC, RFC 3339
  query TEXT NOT NULL,  -- as it was asked
  generation INTEGER NOT NULL REFERENCES generations (generation),  -- what was searched
  generation_digest TEXT NOT NULL CHECK (length(generation_digest) = 64),  -- that generation's digest
  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),  -- SHA-256 of the policy it was indexed under
  acl_epoch INTEGER NOT NULL CHECK (acl_epoch >= 0),  -- the stored epoch of the access rules; 0: none ever changed
  settings TEXT NOT NULL CHECK (json_valid(settings)),  -- top_k, floor, budget and the like, as an object
  nonce TEXT NOT NULL,  -- what the delimiters of its blocks carry
  chars INTEGER NOT NULL,  -- the prompt's length in characters
  tokens INTEGER,  -- its length in tokens, where a counter was used
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),  -- 1: a block did not fit the budget
  unverified_source INTEGER NOT NULL CHECK (unverified_source IN (0, 1)),  -- 1: sources that can't be read were allowed
  prompt_hash TEXT NOT NULL CHECK (length(prompt_hash) = 64),  -- SHA-256 of the prompt
  -- principal: who asked: tenant, subject, groups and scopes, or kind (operator, public), as an object
  principal TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(principal)),
  principal_digest TEXT NOT NULL DEFAULT '',  -- SHA-256 over tenant and subject: whose run it is
  scope_digest TEXT NOT NULL DEFAULT '',  -- SHA-256 over the classes that they could read, with their rules
  as_of TEXT NOT NULL DEFAULT '',  -- the time that validity was judged by
  seen_generation INTEGER,  -- the number that `generation` has for who asked; NULL: the same
  seen_epoch INTEGER  -- the number that `acl_epoch` had for who asked; NULL: the same
) STRICT;

CREATE INDEX runs_by_principal ON runs (principal_digest, run_id);

CREATE INDEX runs_by_age ON runs (principal_digest);

-- A chunk that a run found: shown to the model under a label, or refused with a code.
CREATE TABLE run_hits (
  run_id TEXT NOT NULL REFERENCES runs (run_id),  -- its run
  hit_no INTEGER NOT NULL,  -- 0, 1, … in order of rank
  chunk_id TEXT NOT NULL,  -- the chunk; it need not be live any more
  source_id TEXT NOT NULL,  -- its source
  path TEXT NOT NULL,  -- its document's path
  start_line INTEGER NOT NULL,  -- from 1
  end_line INTEGER NOT NULL,  -- included
  start_byte INTEGER NOT NULL,  -- in the file, from 0
  end_byte INTEGER NOT NULL,  -- behind its last byte
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),  -- SHA-256 of the chunk's text
  document_hash TEXT NOT NULL CHECK (length(document_hash) = 64),  -- SHA-256 of the source file
  score REAL,  -- NULL: refused before it was scored
  label TEXT,  -- S1, S2, … of a chunk that was shown
  code TEXT,  -- why it was not shown, such as over_budget
  detail TEXT,  -- that in words
  PRIMARY KEY (run_id, hit_no),
  CHECK ((label IS NULL) <> (code IS NULL))
) STRICT, WITHOUT ROWID;

-- Something that happened in a run, in order: retrieval, retrieval_truncated, citation_rejected, …
CREATE TABLE run_events (
  run_id TEXT NOT NULL REFERENCES runs (run_id),  -- its run
  event_no INTEGER NOT NULL,  -- 0, 1, …
  name TEXT NOT NULL,  -- what happened
  detail TEXT NOT NULL CHECK (json_valid(detail)),  -- more of it, as an object
  PRIMARY KEY (run_id, event_no)
) STRICT, WITHOUT ROWID;

-- An answer to a run's query, judged: from `ragdb answer`, or made elsewhere and given to `ragdb verify`.
CREATE TABLE answers (
  answer_id TEXT PRIMARY KEY CHECK (length(answer_id) = 32),  -- random
  run_id TEXT NOT NULL REFERENCES runs (run_id),  -- the evidence it was to use
  created_at TEXT NOT NULL,  -- UTC, RFC 3339
  generation INTEGER NOT NULL REFERENCES generations (generation),  -- what it was judged against
  synthesiser TEXT NOT NULL,  -- who made it: external, extractive, or the endpoint's model
  passed INTEGER NOT NULL CHECK (passed IN (0, 1)),  -- 1: every claim and every citation of it was verified
  unverified_source INTEGER NOT NULL CHECK (unverified_source IN (0, 1)),  -- 1: something was verified by the stored text alone
  stop_reason TEXT,  -- how `ragdb answer` ended
  calls INTEGER,  -- how often `ragdb answer` searched
  text TEXT NOT NULL,  -- what was published: verified claims and nothing else
  judged_by TEXT NOT NULL DEFAULT ''  -- SHA-256 over tenant and subject of who had it judged, as in runs
) STRICT;

CREATE INDEX answers_by_run ON answers (run_id);

-- A claim of an answer and its verdict.
CREATE TABLE claims (
  answer_id TEXT NOT NULL REFERENCES answers (answer_id),  -- its answer
  claim_no INTEGER NOT NULL,  -- 0, 1, …
  text TEXT NOT NULL,  -- as proposed
  verdict TEXT NOT NULL CHECK (verdict IN (
    'unknown_reference', 'not_in_context', 'forbidden', 'deleted', 'stale', 'integrity',
    'quote_empty', 'quote_too_short', 'quote_altered', 'quote_misattributed', 'quote_stitched',
    'value_mismatch', 'unit_mismatch', 'polarity_mismatch', 'identifier_mismatch', 'unsupported',
    'verified', 'verified_normalised'
  )),  -- that of its best citation
  support REAL NOT NULL CHECK (support BETWEEN 0 AND 1),  -- the support score of the best citation
  PRIMARY KEY (answer_id, claim_no)
) STRICT, WITHOUT ROWID;

-- A value that a claim states: the numeric ledger. `stands` is 1 where a cited span has the same value.
CREATE TABLE claim_values (
  answer_id TEXT NOT NULL,  -- its answer
  claim_no INTEGER NOT NULL,  -- its claim
  value_no INTEGER NOT NULL,  -- 0, 1, … in order of place
  kind TEXT NOT NULL CHECK (kind IN ('number', 'percent', 'date', 'identifier')),  -- what it is
  written TEXT NOT NULL,  -- as the claim writes it
  value TEXT NOT NULL,  -- normalised: 1200, -0.5, 2024-03-01, E42
  unit TEXT,  -- the unit's normalised name, where it has one
  stands INTEGER NOT NULL CHECK (stands IN (0, 1)),  -- whether the cited span has it
  PRIMARY KEY (answer_id, claim_no, value_no),
  FOREIGN KEY (answer_id, claim_no) REFERENCES claims (answer_id, claim_no)
) STRICT, WITHOUT ROWID;

-- A citation of a claim, its verdict, and where a verified one stands.
CREATE TABLE citations (
  answer_id TEXT NOT NULL,  -- its answer
  claim_no INTEGER NOT NULL,  -- its claim
  citation_no INTEGER NOT NULL,  -- 0, 1, …
  ref TEXT NOT NULL,  -- as proposed: S1, or a chunk id
  quote TEXT,  -- as proposed
  verdict TEXT NOT NULL CHECK (verdict IN (
    'unknown_reference', 'not_in_context', 'forbidden', 'deleted', 'stale', 'integrity',
    'quote_empty', 'quote_too_short', 'quote_altered', 'quote_misattributed', 'quote_stitched',
    'value_mismatch', 'unit_mismatch', 'polarity_mismatch', 'identifier_mismatch', 'unsupported',
    'verified', 'verified_normalised'
  )),  -- what all checks said, or the first that failed
  normalisations TEXT NOT NULL CHECK (json_valid(normalisations)),  -- those that the quote needed
  detail TEXT NOT NULL,  -- the verdict in words
  warnings TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(warnings)),  -- what a reader should know although it was verified
  chunk_id TEXT,  -- what the reference resolved to
  path TEXT,  -- its document's path
  start_line INTEGER,  -- of the verified span, from 1
  end_line INTEGER,  -- included
  start_byte INTEGER,  -- in the file, from 0
  end_byte INTEGER,  -- behind its last byte
  chunk_start_byte INTEGER,  -- in the chunk, from 0
  chunk_end_byte INTEGER,  -- behind its last byte
  content_hash TEXT,  -- SHA-256 of the chunk's text
  PRIMARY KEY (answer_id, claim_no, citation_no),
  CHECK (verdict NOT IN ('verified', 'verified_normalised') OR (
    chunk_id IS NOT NULL AND path IS NOT NULL AND start_line IS NOT NULL AND end_line IS NOT NULL
    AND start_byte IS NOT NULL AND end_byte IS NOT NULL AND chunk_start_byte IS NOT NULL
    AND chunk_end_byte IS NOT NULL AND content_hash IS NOT NULL
  )),
  FOREIGN KEY (answer_id, claim_no) REFERENCES claims (answer_id, claim_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX citations_by_chunk ON citations (chunk_id);

-- Audit: every place where a rule of the unsafe gate matched, and whether that keeps the document from being evidence.
CREATE VIEW audit_unsafe AS
SELECT
  s.source_id,
  d.path || '#L' || f.start_line || '-L' || f.end_line AS citation,
  f.rule,
  d.trust,
  (SELECT count(*) FROM chunks c WHERE c.document_no = d.document_no AND c.unsafe_reason IS NOT NULL) AS unsafe_chunks,
  f.start_byte,
  f.end_byte,
  d.document_id
FROM unsafe_findings f
JOIN documents d USING (document_no)
JOIN sources s USING (source_no);

-- Audit: every claim with its citations, and the span of each that was verified.
CREATE VIEW audit_answers AS
SELECT
  a.answer_id,
  a.created_at,
  a.synthesiser,
  r.query,
  k.claim_no,
  k.text AS claim,
  k.verdict AS claim_verdict,
  k.support,
  c.ref,
  c.verdict,
  c.path || '#L' || c.start_line || '-L' || c.end_line AS citation,
  c.quote,
  c.normalisations,
  c.warnings,
  c.chunk_id,
  c.content_hash,
  a.unverified_source,
  a.run_id,
  r.generation,
  r.generation_digest
FROM answers a
JOIN runs r USING (run_id)
JOIN claims k USING (answer_id)
LEFT JOIN citations c USING (answer_id, claim_no);

-- Access: documents of one source that narrow its rule alike, and so have one rule in common. A document with grants or
-- revocations of its own is a class of its own. 0 is for documents from before there were rules.
CREATE TABLE acl_classes (
  class_no INTEGER PRIMARY KEY CHECK (class_no BETWEEN 0 AND 1073741823),  -- internal number, never used twice
  -- class_key: what its documents have in common: source, visibility, groups, valid_from, valid_until, document
  class_key TEXT NOT NULL UNIQUE CHECK (json_valid(class_key)),
  source_id TEXT NOT NULL,  -- the source
  document_id TEXT CHECK (length(document_id) = 32),  -- the document with acts of its own
  tenant TEXT NOT NULL,  -- whose it is; empty where its source names none
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'internal', 'private')),  -- what came of source and document
  scope TEXT,  -- the source's label
  valid_from TEXT,  -- the first moment at which it may be read, RFC 3339
  valid_until TEXT,  -- the first moment at which it may not be read any more
  notes TEXT NOT NULL CHECK (json_valid(notes)),  -- what was narrowed, and why: a JSON array
  next_chunk INTEGER NOT NULL CHECK (next_chunk BETWEEN 0 AND 4294967296),  -- the next chunk's number in the class
  digest TEXT NOT NULL CHECK (length(digest) = 64),  -- SHA-256 over what generations did to it, one after the other
  groups TEXT CHECK (groups IS NULL OR json_valid(groups))  -- the groups that may read it; NULL where groups do not matter
) STRICT;

-- Whom the rule of a class lets in. `deny` is stronger than `allow`.
CREATE TABLE acl_members (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),  -- the class
  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),  -- let in, or kept out
  kind TEXT NOT NULL CHECK (kind IN ('everyone', 'tenant', 'group', 'user')),  -- anyone; of the tenant: anyone, a group, a user
  name TEXT NOT NULL,  -- of the group or user
  PRIMARY KEY (class_no, effect, kind, name)
) STRICT, WITHOUT ROWID;

-- A change of who may read what is stored already.
CREATE TABLE acl_epochs (
  epoch INTEGER PRIMARY KEY CHECK (epoch >= 1),  -- 1, 2, …; never lowered
  changed_at TEXT NOT NULL,  -- UTC, RFC 3339
  reason TEXT NOT NULL,  -- what changed it
  -- concerns: whom it concerns, for the operator: an array of objects: tenant, kind and name as in acl_members
  concerns TEXT NOT NULL CHECK (json_valid(concerns))
) STRICT;

-- A class whose rule an epoch changed, or that a document left or entered for other readers. What an epoch is to a reader
-- comes from the classes that they may read: no other is looked at.
CREATE TABLE acl_class_epochs (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),  -- the class
  epoch INTEGER NOT NULL REFERENCES acl_epochs (epoch),  -- the change
  PRIMARY KEY (class_no, epoch)
) STRICT, WITHOUT ROWID;

-- What was granted and revoked: the newest word on each target and subject.
CREATE TABLE acl_acts (
  target_kind TEXT NOT NULL CHECK (target_kind IN ('source', 'document')),  -- what it is about
  target TEXT NOT NULL,  -- source_id or document_id
  subject_kind TEXT NOT NULL CHECK (subject_kind IN ('group', 'user')),  -- whom it is about
  subject TEXT NOT NULL,  -- of the target's tenant
  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),  -- granted, or revoked
  epoch INTEGER NOT NULL REFERENCES acl_epochs (epoch),  -- since when
  tenant TEXT NOT NULL,  -- that of the target then: what was granted holds while it is the same
  PRIMARY KEY (target_kind, target, subject_kind, subject)
) STRICT, WITHOUT ROWID;

-- What a generation did to an access class, where it did anything.
CREATE TABLE class_generations (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),  -- the class
  generation INTEGER NOT NULL REFERENCES generations (generation),  -- the generation
  documents_added INTEGER NOT NULL,  -- documents new in the class
  documents_updated INTEGER NOT NULL,  -- documents of the class that changed
  documents_deleted INTEGER NOT NULL,  -- documents that left it
  chunks_added INTEGER NOT NULL,  -- chunk ids new in the class
  chunks_removed INTEGER NOT NULL,  -- chunk ids that left it
  chunks_reused INTEGER NOT NULL,  -- chunk ids of updated documents that stayed
  digest TEXT NOT NULL CHECK (length(digest) = 64),  -- the class's digest then: see acl_classes
  PRIMARY KEY (class_no, generation)
) STRICT, WITHOUT ROWID;

-- A document whose text was taken out of the store for good. A file with the same content does not come back.
CREATE TABLE purges (
  document_id TEXT NOT NULL CHECK (length(document_id) = 32),  -- the document
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),  -- SHA-256 of the file
  generation INTEGER NOT NULL REFERENCES generations (generation),  -- the generation without it
  purged_at TEXT NOT NULL,  -- UTC, RFC 3339
  reason TEXT,  -- as the operator gave it
  PRIMARY KEY (document_id, content_hash)
) STRICT, WITHOUT ROWID;

-- Evidence and answers that may be given again, to whom may read the same, while nothing changed. A row is a hint: all
-- that it leads to is checked before it is given.
CREATE TABLE cache (
  -- cache_key: SHA-256 over who may read what, epoch, generation, policy, question and limits
  cache_key TEXT PRIMARY KEY CHECK (length(cache_key) = 64),
  kind TEXT NOT NULL CHECK (kind IN ('evidence', 'answer')),  -- what is kept
  run_id TEXT NOT NULL REFERENCES runs (run_id),  -- its run
  answer_id TEXT REFERENCES answers (answer_id),  -- its answer
  -- attempts: of an answer: how many attempts, and what was dropped or unreadable
  attempts TEXT CHECK (attempts IS NULL OR json_valid(attempts)),
  events INTEGER NOT NULL CHECK (events >= 0),  -- how many events the run had; those after them are not part of it
  valid_until TEXT,  -- the next moment at which another document becomes or is no longer valid
  created_at TEXT NOT NULL,  -- UTC, RFC 3339
  digest TEXT NOT NULL CHECK (length(digest) = 64),  -- SHA-256 over the key, the run, and the answer with its verdicts
  CHECK ((kind = 'answer') = (answer_id IS NOT NULL)),
  CHECK ((kind = 'answer') = (attempts IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX cache_by_run ON cache (run_id);
CREATE INDEX cache_by_age ON cache (created_at);

-- Audit: who may read what: each class with each word of its rule, and how many documents it has.
CREATE VIEW audit_access AS
SELECT
  c.class_no,
  c.source_id,
  c.document_id,
  c.tenant,
  c.visibility,
  c.scope,
  c.valid_from,
  c.valid_until,
  m.effect,
  m.kind,
  m.name,
  (SELECT count(*) FROM documents d WHERE d.class_no = c.class_no) AS documents,
  c.notes
FROM acl_classes c
LEFT JOIN acl_members m USING (class_no);

-- An embedding model whose vectors are stored. Those of two profiles are never compared.
CREATE TABLE embedding_profiles (
  profile_no INTEGER PRIMARY KEY,  -- internal number
  profile_digest TEXT NOT NULL UNIQUE CHECK (length(profile_digest) = 64),  -- SHA-256 over the five facts below
  model TEXT NOT NULL,  -- the model's name
  version TEXT NOT NULL,  -- which of it: a digest of its weights, a revision
  dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 1 AND 8192),  -- how many numbers a vector has
  normalised INTEGER NOT NULL CHECK (normalised IN (0, 1)),  -- 1: each vector has length 1
  composition TEXT NOT NULL,  -- what of a chunk is embedded
  -- state: ready: searches use it. filling: made beside the ready one, which it replaces once no chunk is without a vector
  state TEXT NOT NULL CHECK (state IN ('filling', 'ready')),
  created_at TEXT NOT NULL  -- UTC, RFC 3339
) STRICT;

-- How many vectors of a profile there are for the chunks of an access class.
CREATE TABLE embedding_sets (
  profile_no INTEGER NOT NULL REFERENCES embedding_profiles (profile_no),  -- the profile
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),  -- the access class
  vectors INTEGER NOT NULL CHECK (vectors >= 0),  -- how many
  stamp INTEGER NOT NULL,  -- another random number after each change
  PRIMARY KEY (profile_no, class_no)
) STRICT, WITHOUT ROWID;

-- The vector of a chunk.
CREATE TABLE embeddings (
  embedding_no INTEGER PRIMARY KEY,  -- internal number
  profile_no INTEGER NOT NULL REFERENCES embedding_profiles (profile_no),  -- the model
  chunk_no INTEGER NOT NULL,  -- the chunk; -1 less it inside the transaction in which it goes, and never outside
  composition_digest BLOB NOT NULL CHECK (length(composition_digest) = 16),  -- of what was embedded: as in chunk_rows
  vector BLOB NOT NULL  -- little-endian numbers of four bytes each, as sqlite-vec reads them
) STRICT;
CREATE UNIQUE INDEX embeddings_by_chunk ON embeddings (profile_no, chunk_no);
CREATE INDEX embeddings_by_composition ON embeddings (composition_digest, profile_no, chunk_no);

-- Audit: each vector with its model and its chunk; `current` is 1 where it was made of the chunk as it is.
CREATE VIEW audit_embeddings AS
SELECT
  p.model,
  p.version,
  p.dimensions,
  p.normalised,
  p.state,
  c.chunk_id,
  e.chunk_no,
  e.composition_digest = c.composition_digest AS current,
  e.vector
FROM embeddings e
JOIN embedding_profiles p USING (profile_no)
LEFT JOIN chunks c USING (chunk_no);
