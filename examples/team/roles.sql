-- The roles of the database that many machines ship their records to. As a superuser, once:
--   createdb --encoding UTF8 --template template0 mcpctl && psql -d mcpctl -f roles.sql
-- Then have the tables made, by a member of mcpctl_owner:
--   mcpctl records ship --to postgresql://admin@db.example.com/mcpctl

CREATE ROLE mcpctl_owner NOLOGIN;   -- makes tables, and drops months of them
CREATE ROLE mcpctl_writer NOLOGIN;  -- ships: inserts, says how far it is and how calls end; deletes nothing
CREATE ROLE mcpctl_reader NOLOGIN;  -- reads

ALTER DATABASE mcpctl OWNER TO mcpctl_owner;
REVOKE ALL ON DATABASE mcpctl FROM PUBLIC;
GRANT CONNECT ON DATABASE mcpctl TO mcpctl_writer, mcpctl_reader;
ALTER SCHEMA public OWNER TO mcpctl_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- A login for each machine that ships, and for each person who reads. Passwords: \password shop1
CREATE ROLE shop1 LOGIN IN ROLE mcpctl_writer;
CREATE ROLE ann LOGIN IN ROLE mcpctl_reader;
CREATE ROLE admin LOGIN IN ROLE mcpctl_owner;
