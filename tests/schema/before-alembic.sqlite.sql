BEGIN TRANSACTION;
CREATE TABLE schema_version (
	version INTEGER NOT NULL
);
INSERT INTO schema_version VALUES(1);
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
INSERT INTO keys VALUES('d196b85f','Ann''s site',X'4cd2d8b667c08dd988cdca41afe607a1410644376f4299aa46db3e5a97fb3239','documents glossaries translate',1000,NULL,'2026-11-22 12:00:00.000000',NULL,NULL);
CREATE TABLE usage (
	key_id VARCHAR(8) NOT NULL, 
	month VARCHAR(7) NOT NULL, 
	characters BIGINT NOT NULL CHECK (characters >= 0), 
	requests BIGINT NOT NULL, 
	documents BIGINT NOT NULL CHECK (documents >= 0), 
	PRIMARY KEY (key_id, month), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
INSERT INTO usage VALUES('d196b85f','2026-11',42,2,1);
CREATE TABLE glossaries (
	id VARCHAR(36) NOT NULL, 
	key_id VARCHAR(8), 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	target TEXT NOT NULL, 
	entries TEXT NOT NULL, 
	entry_count INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
INSERT INTO glossaries VALUES('4619abf1-a641-46ba-940f-692afd607933','d196b85f','mine','de','en',replace('Haus	house\n','\n',char(10)),1,'2026-11-22 12:00:00.000000');
CREATE TABLE jobs_schema_version (
	version INTEGER NOT NULL
);
INSERT INTO jobs_schema_version VALUES(4);
CREATE TABLE jobs (
	id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(8), 
	state VARCHAR(16) NOT NULL, 
	file_name TEXT NOT NULL, 
	source TEXT, 
	target TEXT, 
	model TEXT, 
	columns TEXT NOT NULL, 
	on_failure VARCHAR(16) NOT NULL, 
	webhook_url TEXT, 
	input_size_bytes BIGINT NOT NULL, 
	num_characters BIGINT NOT NULL, 
	charged_month VARCHAR(7) NOT NULL, 
	num_entries BIGINT NOT NULL, 
	num_done BIGINT NOT NULL, 
	num_failed BIGINT NOT NULL, 
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
	PRIMARY KEY (id)
);
INSERT INTO jobs VALUES('01a20320a20003afbba7ddd1bd1b7ed3','d196b85f','queued','a.txt','de','en',NULL,'[]','source',NULL,100,30,'2026-11',2,0,0,NULL,NULL,'2026-11-22 12:00:00.000000',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE translations (
	job VARCHAR(64) NOT NULL, 
	"key" BLOB NOT NULL, 
	text BLOB, 
	problem TEXT, 
	is_cut BOOLEAN NOT NULL, 
	checksum BLOB NOT NULL, 
	PRIMARY KEY (job, "key")
);
INSERT INTO translations VALUES('01a20320a20003afbba7ddd1bd1b7ed3',X'6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b',X'476f6f64206d6f726e696e67',NULL,0,X'2692e15fca1a4e5c');
CREATE TABLE job_facts (
	job VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (job, name)
);
INSERT INTO job_facts VALUES('01a20320a20003afbba7ddd1bd1b7ed3','model','x');
CREATE INDEX ix_glossaries_key_id ON glossaries (key_id);
CREATE INDEX jobs_by_key ON jobs (key_id, id);
CREATE INDEX jobs_by_state ON jobs (state, id);
COMMIT;
