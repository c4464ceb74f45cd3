CREATE TABLE eras (server TEXT NOT NULL, fingerprint TEXT NOT NULL, modern INTEGER NOT NULL, PRIMARY KEY (server, fingerprint)) WITHOUT ROWID;
CREATE TABLE failures (server TEXT NOT NULL, fingerprint TEXT NOT NULL, at REAL NOT NULL, message TEXT NOT NULL, code TEXT NOT NULL DEFAULT '', PRIMARY KEY (server, fingerprint)) WITHOUT ROWID;
CREATE TABLE listed (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (server, fingerprint, capabilities, position)) WITHOUT ROWID;
CREATE TABLE lists (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL, generation INTEGER NOT NULL, fetched_at REAL NOT NULL, instructions TEXT NOT NULL, PRIMARY KEY (server, fingerprint, capabilities)) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE steps (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vectors (model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (model, text));
