PRAGMA legacy_alter_table = ON;
ALTER TABLE documents RENAME TO old_documents;
ALTER TABLE unsafe_findings RENAME TO old_unsafe_findings;
PRAGMA legacy_alter_table = OFF;
DROP INDEX documents_by_class;

CREATE TABLE documents (
  document_no INTEGER PRIMARY KEY,
  document_digest BLOB NOT NULL CHECK (length(document_digest) = 16),
  document_id TEXT GENERATED ALWAYS AS (lower(hex(document_digest))) VIRTUAL UNIQUE,
  source_no INTEGER NOT NULL REFERENCES sources (source_no),
  path TEXT NOT NULL,
  title TEXT NOT NULL,
  lang TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),
  content_hash TEXT GENERATED ALWAYS AS (lower(hex(content_digest))) VIRTUAL,
  size_bytes INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  front_matter TEXT CHECK (front_matter IS NULL OR json_valid(front_matter)),
  generation_added INTEGER NOT NULL REFERENCES generations (generation),
  generation_updated INTEGER NOT NULL REFERENCES generations (generation),
  record_digest BLOB NOT NULL CHECK (length(record_digest) = 32),
  record_hash TEXT GENERATED ALWAYS AS (lower(hex(record_digest))) VIRTUAL,
  mtime_ns INTEGER,
  ctime_ns INTEGER,
  inode INTEGER,
  trust TEXT NOT NULL DEFAULT 'none' CHECK (trust IN ('none', 'reviewed')),
  class_no INTEGER REFERENCES acl_classes (class_no),
  class_generation INTEGER NOT NULL DEFAULT 0 CHECK (class_generation >= 0),
  UNIQUE (source_no, path)
) STRICT;
INSERT INTO documents (
  document_no, document_digest, source_no, path, title, lang, revision, content_digest, size_bytes, lines, front_matter,
  generation_added, generation_updated, record_digest, mtime_ns, ctime_ns, inode, trust, class_no, class_generation
)
SELECT
  document_no, unhex(document_id), source_no, path, title, lang, revision, unhex(content_hash), size_bytes, lines,
  front_matter, generation_added, generation_updated, unhex(record_hash), mtime_ns, ctime_ns, inode, trust, class_no,
  class_generation
FROM old_documents ORDER BY document_no;
CREATE UNIQUE INDEX documents_by_class ON documents (class_no, document_digest);

CREATE TABLE unsafe_findings (
  document_no INTEGER NOT NULL REFERENCES documents (document_no),
  finding_no INTEGER NOT NULL,
  rule TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  start_byte INTEGER NOT NULL,
  end_byte INTEGER NOT NULL,
  PRIMARY KEY (document_no, finding_no)
) STRICT, WITHOUT ROWID;
INSERT INTO unsafe_findings SELECT * FROM old_unsafe_findings;
DROP TABLE old_unsafe_findings;

CREATE TABLE chunk_rows (
  chunk_no INTEGER PRIMARY KEY,
  document_no INTEGER NOT NULL REFERENCES documents (document_no),
  chunk_index INTEGER NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  start_byte INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  heading_only INTEGER NOT NULL CHECK (heading_only IN (0, 1)),
  generation_added INTEGER NOT NULL REFERENCES generations (generation),
  repeat INTEGER NOT NULL,
  under_title INTEGER NOT NULL CHECK (under_title IN (0, 1)),
  unsafe_reason TEXT CHECK (unsafe_reason IS NULL OR json_valid(unsafe_reason)),
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),
  composition_digest BLOB NOT NULL CHECK (length(composition_digest) = 16),
  headings TEXT NOT NULL CHECK (json_valid(headings) AND substr(headings, 1, 1) = '['),
  text TEXT NOT NULL,
  id_in_document TEXT GENERATED ALWAYS AS (lower(hex(substr(content_digest, 1, 8))) || ':' || repeat) VIRTUAL,
  content_hash TEXT GENERATED ALWAYS AS (lower(hex(content_digest))) VIRTUAL,
  composition_hash TEXT GENERATED ALWAYS AS (lower(hex(composition_digest))) VIRTUAL
) STRICT;
INSERT INTO chunk_rows (
  chunk_no, document_no, chunk_index, start_line, end_line, start_byte, token_count, heading_only, generation_added,
  repeat, under_title, unsafe_reason, content_digest, composition_digest, headings, text
)
SELECT
  chunk_no, document_no, chunk_index, start_line, end_line, start_byte, token_count, heading_only, generation_added,
  repeat, rest IS NOT NULL, unsafe_reason, content_digest, composition_digest,
  CASE WHEN rest IS NULL THEN heading_path ELSE '[' || ltrim(rest, ',') END, text
FROM (
  SELECT
    c.*,
    CASE
      WHEN substr(c.heading_path, 1, length(d.opening)) = d.opening
        AND substr(c.heading_path, length(d.opening) + 1, 1) IN (',', ']')
      THEN substr(c.heading_path, length(d.opening) + 1)
    END AS rest
  FROM chunks c
  CROSS JOIN (SELECT document_no, '[' || json_quote(title) AS opening FROM old_documents) d USING (document_no)
)
ORDER BY chunk_no;
DROP TABLE chunks;
DROP TABLE old_documents;
CREATE UNIQUE INDEX chunks_by_document ON chunk_rows (document_no, chunk_index);
CREATE INDEX chunks_unsafe ON chunk_rows (chunk_no) WHERE unsafe_reason IS NOT NULL;

CREATE VIEW chunks AS
SELECT
  r.chunk_no,
  r.document_no,
  r.chunk_index,
  r.start_line,
  r.end_line,
  r.start_byte,
  r.start_byte + length(CAST(r.text AS BLOB)) AS end_byte,
  r.token_count,
  r.heading_only,
  r.generation_added,
  (SELECT d.document_digest FROM documents d WHERE d.document_no = r.document_no) AS document_digest,
  r.content_digest,
  r.repeat,
  r.composition_digest,
  CASE r.under_title WHEN 0 THEN r.headings ELSE (
    SELECT '[' || json_quote(d.title) || CASE r.headings WHEN '[]' THEN ']' ELSE ',' || substr(r.headings, 2) END
    FROM documents d WHERE d.document_no = r.document_no
  ) END AS heading_path,
  r.text,
  (SELECT d.document_id FROM documents d WHERE d.document_no = r.document_no) || ':' || r.id_in_document AS chunk_id,
  r.content_hash,
  r.composition_hash,
  r.unsafe_reason
FROM chunk_rows r;
