CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE generations (
  generation INTEGER PRIMARY KEY CHECK (generation >= 1),
  parent INTEGER REFERENCES generations (generation),
  published_at TEXT NOT NULL,
  documents_added INTEGER NOT NULL,
  documents_updated INTEGER NOT NULL,
  documents_deleted INTEGER NOT NULL,
  documents_unchanged INTEGER NOT NULL,
  documents_failed INTEGER NOT NULL,
  chunks_added INTEGER NOT NULL,
  chunks_removed INTEGER NOT NULL,
  chunks_reused INTEGER NOT NULL,
  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  parent_digest TEXT CHECK (length(parent_digest) = 64),
  tool_version TEXT NOT NULL,
  record_hash TEXT NOT NULL CHECK (length(record_hash) = 64),
  CHECK ((parent IS NULL) = (parent_digest IS NULL))
) STRICT;

CREATE TABLE sources (
  source_no INTEGER PRIMARY KEY,
  source_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('markdown', 'text')),
  root TEXT NOT NULL,
  declared_by TEXT NOT NULL CHECK (declared_by IN ('config', 'argument')),
  scope TEXT,
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'internal', 'private')),
  tenant TEXT,
  groups TEXT NOT NULL CHECK (json_valid(groups)),
  include TEXT NOT NULL CHECK (json_valid(include)),
  exclude TEXT NOT NULL CHECK (json_valid(exclude)),
  required_metadata TEXT NOT NULL CHECK (json_valid(required_metadata)),
  hidden INTEGER NOT NULL CHECK (hidden IN (0, 1)),
  respect_gitignore INTEGER NOT NULL CHECK (respect_gitignore IN (0, 1)),
  max_file_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE documents (
  document_no INTEGER PRIMARY KEY,
  document_id TEXT NOT NULL UNIQUE CHECK (length(document_id) = 32),
  source_no INTEGER NOT NULL REFERENCES sources (source_no),
  path TEXT NOT NULL,
  title TEXT NOT NULL,
  lang TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  size_bytes INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  front_matter TEXT CHECK (json_valid(front_matter)),
  generation_added INTEGER NOT NULL REFERENCES generations (generation),
  generation_updated INTEGER NOT NULL REFERENCES generations (generation),
  record_hash TEXT NOT NULL CHECK (length(record_hash) = 64),
  mtime_ns INTEGER,
  ctime_ns INTEGER,
  inode INTEGER,
  UNIQUE (source_no, path)
) STRICT;

CREATE TABLE chunks (
  chunk_no INTEGER PRIMARY KEY,
  document_no INTEGER NOT NULL REFERENCES documents (document_no),
  chunk_index INTEGER NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  start_byte INTEGER NOT NULL,
  end_byte INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  heading_only INTEGER NOT NULL CHECK (heading_only IN (0, 1)),
  generation_added INTEGER NOT NULL REFERENCES generations (generation),
  document_digest BLOB NOT NULL CHECK (length(document_digest) = 16),
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),
  repeat INTEGER NOT NULL,
  composition_digest BLOB NOT NULL CHECK (length(composition_digest) = 16),
  heading_path TEXT NOT NULL CHECK (json_valid(heading_path)),
  text TEXT NOT NULL,
  chunk_id TEXT GENERATED ALWAYS AS (
    lower(hex(document_digest)) || ':' || lower(hex(substr(content_digest, 1, 8))) || ':' || repeat
  ) VIRTUAL,
  content_hash TEXT GENERATED ALWAYS AS (lower(hex(content_digest))) VIRTUAL,
  composition_hash TEXT GENERATED ALWAYS AS (lower(hex(composition_digest))) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX chunks_by_document ON chunks (document_no, chunk_index);

CREATE TABLE tombstones (
  tombstone_no INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('document', 'chunk')),
  id TEXT NOT NULL,
  document_id TEXT NOT NULL CHECK (length(document_id) = 32),
  source_id TEXT NOT NULL,
  path TEXT NOT NULL,
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  generation_added INTEGER NOT NULL REFERENCES generations (generation),
  generation_deleted INTEGER NOT NULL REFERENCES generations (generation),
  reason TEXT NOT NULL CHECK (reason IN ('file_deleted', 'text_changed', 'policy_changed', 'source_removed'))
) STRICT;

CREATE INDEX tombstones_by_id ON tombstones (id);
CREATE INDEX tombstones_by_generation ON tombstones (generation_deleted);

CREATE TABLE sync_failures (
  generation INTEGER NOT NULL REFERENCES generations (generation),
  source_id TEXT NOT NULL,
  path TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (generation, source_id, path, code)
) STRICT, WITHOUT ROWID;

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

CREATE VIEW audit_chain AS
SELECT
  g.generation,
  g.published_at,
  g.digest,
  g.parent_digest,
  g.parent IS NULL OR g.parent_digest = p.digest AS linked
FROM generations g
LEFT JOIN generations p ON p.generation = g.parent;

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

-- The BM25 index: immutable segments of block postings. schema.sql and ARCHITECTURE.md give the byte layout.

CREATE TABLE segments (
  segment INTEGER PRIMARY KEY CHECK (segment >= 1),
  generation INTEGER NOT NULL REFERENCES generations (generation) DEFERRABLE INITIALLY DEFERRED,
  first_chunk INTEGER NOT NULL CHECK (first_chunk >= 0),
  chunks INTEGER NOT NULL CHECK (chunks >= 0),
  indexed INTEGER NOT NULL CHECK (indexed BETWEEN 0 AND chunks),
  total_length INTEGER NOT NULL CHECK (total_length >= 0),
  dead_chunks INTEGER NOT NULL CHECK (dead_chunks >= 0),
  dead_length INTEGER NOT NULL CHECK (dead_length >= 0),
  average_length REAL NOT NULL CHECK (average_length > 0),
  first_row INTEGER NOT NULL,
  rows INTEGER NOT NULL CHECK (rows >= 0)
) STRICT;

CREATE TABLE terms (
  segment INTEGER NOT NULL,
  term TEXT NOT NULL,
  df INTEGER NOT NULL CHECK (df >= 0),
  dead INTEGER NOT NULL CHECK (dead >= 0),
  max_impact INTEGER NOT NULL CHECK (max_impact BETWEEN 0 AND 65535),
  base INTEGER NOT NULL CHECK (base >= 0),
  blocks INTEGER NOT NULL CHECK (blocks >= 0),
  data BLOB NOT NULL,
  PRIMARY KEY (segment, term)
) STRICT, WITHOUT ROWID;

CREATE TABLE posting_blocks (
  block_row INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

CREATE TABLE chunk_lengths (
  page INTEGER PRIMARY KEY CHECK (page >= 0),
  lengths BLOB NOT NULL CHECK (length(lengths) = 4000)
) STRICT;

CREATE VIEW audit_segments AS
SELECT
  segment, generation, first_chunk, chunks, indexed, total_length, dead_chunks, dead_length, average_length, first_row,
  rows, (SELECT count(*) FROM terms WHERE terms.segment = segments.segment) AS terms
FROM segments;

CREATE VIEW audit_terms AS
SELECT term, sum(df) - sum(dead) AS df FROM terms GROUP BY term HAVING sum(df) > sum(dead);

CREATE VIEW audit_lengths AS
WITH RECURSIVE slot (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM slot WHERE i < 1999)
SELECT chunk_no, length
FROM (
  SELECT
    page * 2000 + i AS chunk_no,
    instr('123456789ABCDEF', substr(hex(substr(lengths, 1 + 2 * i, 1)), 1, 1)) * 4096
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 1 + 2 * i, 1)), 2, 1)) * 256
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 2 + 2 * i, 1)), 1, 1)) * 16
    + instr('123456789ABCDEF', substr(hex(substr(lengths, 2 + 2 * i, 1)), 2, 1)) AS length
  FROM chunk_lengths CROSS JOIN slot
)
WHERE length > 0;

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
