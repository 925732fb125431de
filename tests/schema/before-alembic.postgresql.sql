CREATE TABLE glossaries (
    id character varying(36) NOT NULL,
    key_id character varying(8),
    name text NOT NULL,
    source text NOT NULL,
    target text NOT NULL,
    entries text NOT NULL,
    entry_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE job_facts (
    job character varying(64) NOT NULL,
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE jobs (
    id character varying(32) NOT NULL,
    key_id character varying(8),
    state character varying(16) NOT NULL,
    file_name text NOT NULL,
    source text,
    target text,
    model text,
    columns text NOT NULL,
    on_failure character varying(16) NOT NULL,
    webhook_url text,
    input_size_bytes bigint NOT NULL,
    num_characters bigint NOT NULL,
    charged_month character varying(7) NOT NULL,
    num_entries bigint NOT NULL,
    num_done bigint NOT NULL,
    num_failed bigint NOT NULL,
    entries_per_s double precision,
    problem text,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    expires_at timestamp with time zone,
    result text,
    result_size_bytes bigint,
    result_sha256 character varying(64),
    errors text,
    errors_size_bytes bigint,
    is_cancelling boolean NOT NULL,
    worker character varying(32),
    leased_until timestamp with time zone,
    num_setbacks integer NOT NULL,
    webhook_tries integer NOT NULL,
    webhook_due_at timestamp with time zone,
    webhook_state character varying(16),
    webhook_problem text,
    document_key_sha256 character varying(64),
    detected_source text
);
CREATE TABLE jobs_schema_version (
    version integer NOT NULL
);
CREATE TABLE keys (
    id character varying(8) NOT NULL,
    name text NOT NULL,
    secret_sha256 bytea NOT NULL,
    scopes text NOT NULL,
    characters_per_month bigint,
    requests_per_minute bigint,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone
);
CREATE TABLE schema_version (
    version integer NOT NULL
);
CREATE TABLE translations (
    job character varying(64) NOT NULL,
    key bytea NOT NULL,
    text bytea,
    problem text,
    is_cut boolean NOT NULL,
    checksum bytea NOT NULL
);
CREATE TABLE usage (
    key_id character varying(8) NOT NULL,
    month character varying(7) NOT NULL,
    characters bigint NOT NULL,
    requests bigint NOT NULL,
    documents bigint NOT NULL,
    CONSTRAINT usage_characters_check CHECK ((characters >= 0)),
    CONSTRAINT usage_documents_check CHECK ((documents >= 0))
);
INSERT INTO glossaries VALUES ('4619abf1-a641-46ba-940f-692afd607933', 'd196b85f', 'mine', 'de', 'en', 'Haus	house
', 1, '2026-11-22 12:00:00+00');
INSERT INTO job_facts VALUES ('01a20320a20003afbba7ddd1bd1b7ed3', 'model', 'x');
INSERT INTO jobs VALUES ('01a20320a20003afbba7ddd1bd1b7ed3', 'd196b85f', 'queued', 'a.txt', 'de', 'en', NULL, '[]', 'source', NULL, 100, 30, '2026-11', 2, 0, 0, NULL, NULL, '2026-11-22 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO jobs_schema_version VALUES (4);
INSERT INTO keys VALUES ('d196b85f', 'Ann''s site', '\x4cd2d8b667c08dd988cdca41afe607a1410644376f4299aa46db3e5a97fb3239', 'documents glossaries translate', 1000, NULL, '2026-11-22 12:00:00+00', NULL, NULL);
INSERT INTO schema_version VALUES (1);
INSERT INTO translations VALUES ('01a20320a20003afbba7ddd1bd1b7ed3', '\x6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b', '\x476f6f64206d6f726e696e67', NULL, false, '\x2692e15fca1a4e5c');
INSERT INTO usage VALUES ('d196b85f', '2026-11', 42, 2, 1);
ALTER TABLE ONLY glossaries
    ADD CONSTRAINT glossaries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY job_facts
    ADD CONSTRAINT job_facts_pkey PRIMARY KEY (job, name);
ALTER TABLE ONLY jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY translations
    ADD CONSTRAINT translations_pkey PRIMARY KEY (job, key);
ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (key_id, month);
CREATE INDEX ix_glossaries_key_id ON glossaries USING btree (key_id);
CREATE INDEX jobs_by_key ON jobs USING btree (key_id, id);
CREATE INDEX jobs_by_state ON jobs USING btree (state, id);
ALTER TABLE ONLY glossaries
    ADD CONSTRAINT glossaries_key_id_fkey FOREIGN KEY (key_id) REFERENCES keys(id);
ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_key_id_fkey FOREIGN KEY (key_id) REFERENCES keys(id);
