-- In SQLite before 3.45 json_valid(NULL) is 0 and not NULL: a check must name NULL.
ALTER TABLE acl_classes RENAME COLUMN groups TO old_groups;
ALTER TABLE acl_classes ADD COLUMN groups TEXT CHECK (groups IS NULL OR json_valid(groups));
UPDATE acl_classes SET groups = old_groups;
ALTER TABLE acl_classes DROP COLUMN old_groups;

CREATE TABLE old_cache AS SELECT * FROM cache;
DROP TABLE cache;
CREATE TABLE cache (
  cache_key TEXT PRIMARY KEY CHECK (length(cache_key) = 64),
  kind TEXT NOT NULL CHECK (kind IN ('evidence', 'answer')),
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  answer_id TEXT REFERENCES answers (answer_id),
  attempts TEXT CHECK (attempts IS NULL OR json_valid(attempts)),
  events INTEGER NOT NULL CHECK (events >= 0),
  valid_until TEXT,
  created_at TEXT NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  CHECK ((kind = 'answer') = (answer_id IS NOT NULL)),
  CHECK ((kind = 'answer') = (attempts IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO cache (
  cache_key, kind, run_id, answer_id, attempts, events, valid_until, created_at, digest
)
SELECT cache_key, kind, run_id, answer_id, attempts, events, valid_until, created_at, digest FROM old_cache;
DROP TABLE old_cache;
CREATE INDEX cache_by_run ON cache (run_id);
CREATE INDEX cache_by_age ON cache (created_at);

CREATE TABLE embedding_profiles (
  profile_no INTEGER PRIMARY KEY,
  profile_digest TEXT NOT NULL UNIQUE CHECK (length(profile_digest) = 64),
  model TEXT NOT NULL,
  version TEXT NOT NULL,
  dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 1 AND 8192),
  normalised INTEGER NOT NULL CHECK (normalised IN (0, 1)),
  composition TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('filling', 'ready')),
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE embedding_sets (
  profile_no INTEGER NOT NULL REFERENCES embedding_profiles (profile_no),
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),
  vectors INTEGER NOT NULL CHECK (vectors >= 0),
  stamp INTEGER NOT NULL,
  PRIMARY KEY (profile_no, class_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE embeddings (
  embedding_no INTEGER PRIMARY KEY,
  profile_no INTEGER NOT NULL REFERENCES embedding_profiles (profile_no),
  chunk_no INTEGER NOT NULL,
  composition_digest BLOB NOT NULL CHECK (length(composition_digest) = 16),
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX embeddings_by_chunk ON embeddings (profile_no, chunk_no);
CREATE INDEX embeddings_by_composition ON embeddings (composition_digest, profile_no, chunk_no);

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
