CREATE TABLE acl_classes (
  class_no INTEGER PRIMARY KEY CHECK (class_no BETWEEN 0 AND 1073741823),
  class_key TEXT NOT NULL UNIQUE CHECK (json_valid(class_key)),
  source_id TEXT NOT NULL,
  document_id TEXT CHECK (length(document_id) = 32),
  tenant TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'internal', 'private')),
  groups TEXT CHECK (json_valid(groups)),
  scope TEXT,
  valid_from TEXT,
  valid_until TEXT,
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  next_chunk INTEGER NOT NULL CHECK (next_chunk BETWEEN 0 AND 4294967296),
  digest TEXT NOT NULL CHECK (length(digest) = 64)
) STRICT;

INSERT INTO acl_classes VALUES
  (0, '{}', '', NULL, '', 'private', NULL, NULL, NULL, NULL, '[]', 0, printf('%064d', 0));

UPDATE acl_classes SET next_chunk = coalesce(
  (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'next_chunk'), 0
) WHERE class_no = 0;
DELETE FROM settings WHERE key = 'next_chunk';

CREATE TABLE acl_members (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),
  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
  kind TEXT NOT NULL CHECK (kind IN ('everyone', 'tenant', 'group', 'user')),
  name TEXT NOT NULL,
  PRIMARY KEY (class_no, effect, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE acl_epochs (
  epoch INTEGER PRIMARY KEY CHECK (epoch >= 1),
  changed_at TEXT NOT NULL,
  reason TEXT NOT NULL,
  concerns TEXT NOT NULL CHECK (json_valid(concerns))
) STRICT;

CREATE TABLE acl_class_epochs (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),
  epoch INTEGER NOT NULL REFERENCES acl_epochs (epoch),
  PRIMARY KEY (class_no, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE acl_acts (
  target_kind TEXT NOT NULL CHECK (target_kind IN ('source', 'document')),
  target TEXT NOT NULL,
  subject_kind TEXT NOT NULL CHECK (subject_kind IN ('group', 'user')),
  subject TEXT NOT NULL,
  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
  epoch INTEGER NOT NULL REFERENCES acl_epochs (epoch),
  tenant TEXT NOT NULL,
  PRIMARY KEY (target_kind, target, subject_kind, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE class_generations (
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),
  generation INTEGER NOT NULL REFERENCES generations (generation),
  documents_added INTEGER NOT NULL,
  documents_updated INTEGER NOT NULL,
  documents_deleted INTEGER NOT NULL,
  chunks_added INTEGER NOT NULL,
  chunks_removed INTEGER NOT NULL,
  chunks_reused INTEGER NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  PRIMARY KEY (class_no, generation)
) STRICT, WITHOUT ROWID;

ALTER TABLE documents ADD COLUMN class_no INTEGER REFERENCES acl_classes (class_no);
UPDATE documents SET class_no = 0;
ALTER TABLE documents ADD COLUMN class_generation INTEGER NOT NULL DEFAULT 0 CHECK (class_generation >= 0);
CREATE UNIQUE INDEX documents_by_class ON documents (class_no, document_id);

DROP INDEX chunks_unsafe;
CREATE INDEX chunks_unsafe ON chunks (chunk_no) WHERE unsafe_reason IS NOT NULL;

ALTER TABLE generations ADD COLUMN acl_epoch INTEGER NOT NULL DEFAULT 0 CHECK (acl_epoch >= 0);
ALTER TABLE segments ADD COLUMN class_no INTEGER NOT NULL DEFAULT 0 CHECK (class_no >= 0);
CREATE INDEX segments_by_class ON segments (class_no, segment);

DROP VIEW audit_lengths;
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

DROP VIEW audit_deleted;
ALTER TABLE tombstones RENAME TO old_tombstones;
DROP INDEX tombstones_by_id;
DROP INDEX tombstones_by_generation;
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
  reason TEXT NOT NULL CHECK (reason IN (
    'file_deleted', 'text_changed', 'policy_changed', 'source_removed', 'rolled_back', 'purged'
  )),
  class_no INTEGER NOT NULL REFERENCES acl_classes (class_no),
  class_generation INTEGER NOT NULL CHECK (class_generation >= 0)
) STRICT;
INSERT INTO tombstones SELECT *, 0, 0 FROM old_tombstones;
DROP TABLE old_tombstones;
CREATE INDEX tombstones_by_id ON tombstones (class_no, id);
CREATE INDEX tombstones_by_generation ON tombstones (class_no, generation_deleted);
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

CREATE TABLE purges (
  document_id TEXT NOT NULL CHECK (length(document_id) = 32),
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  generation INTEGER NOT NULL REFERENCES generations (generation),
  purged_at TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (document_id, content_hash)
) STRICT, WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN principal TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(principal));
ALTER TABLE runs ADD COLUMN principal_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN scope_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN as_of TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN seen_generation INTEGER;
ALTER TABLE runs ADD COLUMN seen_epoch INTEGER;
ALTER TABLE answers ADD COLUMN judged_by TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_by_principal ON runs (principal_digest, run_id);
CREATE INDEX runs_by_age ON runs (principal_digest);

CREATE TABLE cache (
  cache_key TEXT PRIMARY KEY CHECK (length(cache_key) = 64),
  kind TEXT NOT NULL CHECK (kind IN ('evidence', 'answer')),
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  answer_id TEXT REFERENCES answers (answer_id),
  attempts TEXT CHECK (json_valid(attempts)),
  events INTEGER NOT NULL CHECK (events >= 0),
  valid_until TEXT,
  created_at TEXT NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  CHECK ((kind = 'answer') = (answer_id IS NOT NULL)),
  CHECK ((kind = 'answer') = (attempts IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX cache_by_run ON cache (run_id);
CREATE INDEX cache_by_age ON cache (created_at);

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

DROP VIEW audit_answers;
DROP INDEX citations_by_chunk;
ALTER TABLE claims RENAME TO old_claims;
ALTER TABLE claim_values RENAME TO old_claim_values;
ALTER TABLE citations RENAME TO old_citations;
CREATE TABLE claims (
  answer_id TEXT NOT NULL REFERENCES answers (answer_id),
  claim_no INTEGER NOT NULL,
  text TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN (
    'unknown_reference', 'not_in_context', 'forbidden', 'deleted', 'stale', 'integrity',
    'quote_empty', 'quote_too_short', 'quote_altered', 'quote_misattributed', 'quote_stitched',
    'value_mismatch', 'unit_mismatch', 'polarity_mismatch', 'identifier_mismatch', 'unsupported',
    'verified', 'verified_normalised'
  )),
  support REAL NOT NULL CHECK (support BETWEEN 0 AND 1),
  PRIMARY KEY (answer_id, claim_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE claim_values (
  answer_id TEXT NOT NULL,
  claim_no INTEGER NOT NULL,
  value_no INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('number', 'percent', 'date', 'identifier')),
  written TEXT NOT NULL,
  value TEXT NOT NULL,
  unit TEXT,
  stands INTEGER NOT NULL CHECK (stands IN (0, 1)),
  PRIMARY KEY (answer_id, claim_no, value_no),
  FOREIGN KEY (answer_id, claim_no) REFERENCES claims (answer_id, claim_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE citations (
  answer_id TEXT NOT NULL,
  claim_no INTEGER NOT NULL,
  citation_no INTEGER NOT NULL,
  ref TEXT NOT NULL,
  quote TEXT,
  verdict TEXT NOT NULL CHECK (verdict IN (
    'unknown_reference', 'not_in_context', 'forbidden', 'deleted', 'stale', 'integrity',
    'quote_empty', 'quote_too_short', 'quote_altered', 'quote_misattributed', 'quote_stitched',
    'value_mismatch', 'unit_mismatch', 'polarity_mismatch', 'identifier_mismatch', 'unsupported',
    'verified', 'verified_normalised'
  )),
  normalisations TEXT NOT NULL CHECK (json_valid(normalisations)),
  detail TEXT NOT NULL,
  warnings TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(warnings)),
  chunk_id TEXT,
  path TEXT,
  start_line INTEGER,
  end_line INTEGER,
  start_byte INTEGER,
  end_byte INTEGER,
  chunk_start_byte INTEGER,
  chunk_end_byte INTEGER,
  content_hash TEXT,
  PRIMARY KEY (answer_id, claim_no, citation_no),
  CHECK (verdict NOT IN ('verified', 'verified_normalised') OR (
    chunk_id IS NOT NULL AND path IS NOT NULL AND start_line IS NOT NULL AND end_line IS NOT NULL
    AND start_byte IS NOT NULL AND end_byte IS NOT NULL AND chunk_start_byte IS NOT NULL
    AND chunk_end_byte IS NOT NULL AND content_hash IS NOT NULL
  )),
  FOREIGN KEY (answer_id, claim_no) REFERENCES claims (answer_id, claim_no)
) STRICT, WITHOUT ROWID;
INSERT INTO claims SELECT * FROM old_claims;
INSERT INTO claim_values SELECT * FROM old_claim_values;
INSERT INTO citations SELECT * FROM old_citations;
DROP TABLE old_citations;
DROP TABLE old_claim_values;
DROP TABLE old_claims;
CREATE INDEX citations_by_chunk ON citations (chunk_id);
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
