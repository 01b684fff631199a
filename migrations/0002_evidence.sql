ALTER TABLE sources ADD COLUMN trust TEXT NOT NULL DEFAULT 'none' CHECK (trust IN ('none', 'reviewed'));
ALTER TABLE sources ADD COLUMN reviewed TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(reviewed));
ALTER TABLE documents ADD COLUMN trust TEXT NOT NULL DEFAULT 'none' CHECK (trust IN ('none', 'reviewed'));
ALTER TABLE chunks ADD COLUMN unsafe_reason TEXT CHECK (json_valid(unsafe_reason));

CREATE INDEX chunks_unsafe ON chunks (document_no) WHERE unsafe_reason IS NOT NULL;

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

CREATE TABLE runs (
  run_id TEXT PRIMARY KEY CHECK (length(run_id) = 32),
  created_at TEXT NOT NULL,
  query TEXT NOT NULL,
  generation INTEGER NOT NULL REFERENCES generations (generation),
  generation_digest TEXT NOT NULL CHECK (length(generation_digest) = 64),
  policy_digest TEXT NOT NULL CHECK (length(policy_digest) = 64),
  acl_epoch INTEGER NOT NULL CHECK (acl_epoch >= 0),
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  nonce TEXT NOT NULL,
  chars INTEGER NOT NULL,
  tokens INTEGER,
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  unverified_source INTEGER NOT NULL CHECK (unverified_source IN (0, 1)),
  prompt_hash TEXT NOT NULL CHECK (length(prompt_hash) = 64)
) STRICT;

CREATE TABLE run_hits (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  hit_no INTEGER NOT NULL,
  chunk_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  path TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  start_byte INTEGER NOT NULL,
  end_byte INTEGER NOT NULL,
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  document_hash TEXT NOT NULL CHECK (length(document_hash) = 64),
  score REAL,
  label TEXT,
  code TEXT,
  detail TEXT,
  PRIMARY KEY (run_id, hit_no),
  CHECK ((label IS NULL) <> (code IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE run_events (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  event_no INTEGER NOT NULL,
  name TEXT NOT NULL,
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  PRIMARY KEY (run_id, event_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
  answer_id TEXT PRIMARY KEY CHECK (length(answer_id) = 32),
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  created_at TEXT NOT NULL,
  generation INTEGER NOT NULL REFERENCES generations (generation),
  synthesiser TEXT NOT NULL,
  passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
  unverified_source INTEGER NOT NULL CHECK (unverified_source IN (0, 1)),
  stop_reason TEXT,
  calls INTEGER,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX answers_by_run ON answers (run_id);

CREATE TABLE claims (
  answer_id TEXT NOT NULL REFERENCES answers (answer_id),
  claim_no INTEGER NOT NULL,
  text TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN (
    'unknown_reference', 'not_in_context', 'deleted', 'stale', 'integrity',
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
    'unknown_reference', 'not_in_context', 'deleted', 'stale', 'integrity',
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

CREATE INDEX citations_by_chunk ON citations (chunk_id);

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
