CREATE TABLE keys (
    id VARCHAR(8) NOT NULL,
    name TEXT NOT NULL,
    secret_sha256 BLOB NOT NULL,
    scopes TEXT NOT NULL,
    characters_per_month BIGINT,
    requests_per_minute BIGINT,
    created_at DATETIME NOT NULL,
    expires_at DATETIME,
    revoked_at DATETIME,
    PRIMARY KEY (id)
);
CREATE TABLE jobs (
    id VARCHAR(32) NOT NULL,
    key_id VARCHAR(8),
    state VARCHAR(16) NOT NULL,
    request TEXT NOT NULL,
    input_size_bytes BIGINT NOT NULL,
    num_characters BIGINT NOT NULL,
    charged_month VARCHAR(7) NOT NULL,
    num_entries BIGINT NOT NULL,
    num_done BIGINT NOT NULL,
    num_failed BIGINT NOT NULL,
    num_flagged BIGINT NOT NULL,
    entries_per_s FLOAT,
    problem TEXT,
    created_at DATETIME NOT NULL,
    started_at DATETIME,
    finished_at DATETIME,
    expires_at DATETIME,
    result TEXT,
    result_size_bytes BIGINT,
    result_sha256 VARCHAR(64),
    errors TEXT,
    errors_size_bytes BIGINT,
    is_cancelling BOOLEAN NOT NULL,
    worker VARCHAR(32),
    leased_until DATETIME,
    num_setbacks INTEGER NOT NULL,
    webhook_tries INTEGER NOT NULL,
    webhook_due_at DATETIME,
    webhook_state VARCHAR(16),
    webhook_problem TEXT,
    document_key_sha256 VARCHAR(64),
    detected_source TEXT,
    num_terms INTEGER,
    PRIMARY KEY (id)
);
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX jobs_by_key ON jobs (key_id, id);
CREATE TABLE translations (
    job VARCHAR(64) NOT NULL,
    "key" BLOB NOT NULL,
    text BLOB,
    problem TEXT,
    is_cut BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    origin VARCHAR(16),
    confidence FLOAT,
    PRIMARY KEY (job, "key")
);
CREATE TABLE job_facts (
    job VARCHAR(64) NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (job, name)
);
CREATE TABLE usage (
    key_id VARCHAR(8) NOT NULL,
    month VARCHAR(7) NOT NULL,
    characters BIGINT NOT NULL CHECK (characters >= 0),
    requests BIGINT NOT NULL,
    documents BIGINT NOT NULL CHECK (documents >= 0),
    PRIMARY KEY (key_id, month),
    FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE TABLE glossaries (
    id VARCHAR(36) NOT NULL,
    key_id VARCHAR(8),
    name TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    version INTEGER DEFAULT '1' NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE INDEX ix_glossaries_key_id ON glossaries (key_id);
CREATE TABLE memories (
    id VARCHAR(36) NOT NULL,
    key_id VARCHAR(8),
    name TEXT NOT NULL,
    source VARCHAR(64) NOT NULL,
    target VARCHAR(64) NOT NULL,
    num_pairs INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    version INTEGER NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE INDEX ix_memories_key_id ON memories (key_id);
CREATE TABLE glossary_dictionaries (
    glossary_id VARCHAR(36) NOT NULL,
    source VARCHAR(64) NOT NULL,
    target VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    entries TEXT NOT NULL,
    entry_count INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    PRIMARY KEY (glossary_id, source, target),
    FOREIGN KEY(glossary_id) REFERENCES glossaries (id)
);
CREATE TABLE memory_pairs (
    memory_id VARCHAR(36) NOT NULL,
    digest BLOB NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (memory_id, digest),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
);
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version VALUES ('0001');
