-- A store as schema 2 left it: an ended process, one in the middle of a step, both with the same long text, and a removed one
-- whose facts are not gone yet. Written by the code of that schema, and never to be changed. Test: test/tables/store/opening.test.ts.
PRAGMA page_size = 16384; PRAGMA auto_vacuum = incremental;
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL, copy INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE processes (
  key INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, reversed TEXT NOT NULL, pid INTEGER NOT NULL, name TEXT,
  live INTEGER NOT NULL, exited_at INTEGER, spec_seq INTEGER NOT NULL, spec_cursor INTEGER NOT NULL,
  seq INTEGER NOT NULL, open TEXT NOT NULL, sum INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
CREATE INDEX processes_live ON processes (key) WHERE live = 1;
CREATE INDEX processes_dead ON processes (exited_at, uuid) WHERE live = 0;
CREATE INDEX processes_pid ON processes (pid);
CREATE INDEX processes_name ON processes (name, key) WHERE name IS NOT NULL;
CREATE INDEX processes_reversed ON processes (reversed);
CREATE TABLE journal (
  cursor INTEGER PRIMARY KEY, process INTEGER NOT NULL, seq INTEGER NOT NULL, pid INTEGER NOT NULL, at INTEGER NOT NULL,
  type INTEGER NOT NULL, sum INTEGER NOT NULL, body TEXT NOT NULL, refs TEXT
  ) STRICT;
CREATE TABLE places (
  process INTEGER NOT NULL, block INTEGER NOT NULL, first INTEGER NOT NULL, entries TEXT NOT NULL, PRIMARY KEY (process, block)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE blobs (key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
CREATE TRIGGER journal_cursor BEFORE DELETE ON journal BEGIN
  UPDATE meta SET value = OLD.cursor, copy = -OLD.cursor WHERE name = 'cursor' AND value < OLD.cursor;
  END;
CREATE TABLE tombstones (
  uuid TEXT PRIMARY KEY, reversed TEXT NOT NULL, pid INTEGER NOT NULL, name TEXT, removed_at INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_reversed ON tombstones (reversed);
CREATE INDEX tombstones_pid ON tombstones (pid);
CREATE INDEX tombstones_name ON tombstones (name, removed_at) WHERE name IS NOT NULL;
CREATE TABLE doomed (key INTEGER PRIMARY KEY) STRICT;
CREATE TABLE shared (blob INTEGER PRIMARY KEY, more INTEGER NOT NULL) STRICT;
INSERT INTO meta VALUES ('cursor', 0, 0);
INSERT INTO meta VALUES ('pid', 3, -3);
INSERT INTO meta VALUES ('schema', 2, -2);
INSERT INTO meta VALUES ('settled', 16, -16);
INSERT INTO processes VALUES (1, '0192f3a4-0000-7abc-8def-000000000001', '100000000000fed8cba700004a3f2910', 1, 'old', 0, 1700000000004, 1, 1, 5, '1,1,1,2,1,25,1,9,1,10', 2538654274, '{"parent":null,"parentUuid":null,"depth":0,"life":{"state":"dead","exit":{"code":0,"reason":"completed","cause":"agent"}},"signals":{"mask":[],"pending":[],"handlers":{}},"progress":{"step":0,"modelOpen":false,"attempt":0,"openCalls":[],"wholeStep":0,"turn":0,"turnOpen":false,"lastText":null},"usage":{"steps":0,"turns":0,"messagesSent":0,"toolCalls":0,"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"contextTokens":0,"costUsd":0,"unpriced":false,"estimated":false},"queue":[],"clock":{"createdAt":1700000000001,"startedAt":1700000000002,"pausedAt":null,"exitedAt":1700000000004,"updatedAt":1700000000005,"lastActivityAt":1700000000005,"elapsedMs":4,"since":null,"sinceAt":null,"pausedMono":null},"containment":null,"handle":null,"checkpoint":null,"sessionId":null,"note":null,"originUuid":null,"originStep":null,"originSeq":null,"resumedFromStep":null,"retiredAt":null,"pinned":false}');
INSERT INTO processes VALUES (2, '0192f3a4-0000-7abc-8def-000000000002', '200000000000fed8cba700004a3f2910', 2, NULL, 1, NULL, 1, 6, 7, '6,1,1,2,1,25,1,29,1,31,1,32,1,28', 316393159, '{"parent":null,"parentUuid":null,"depth":0,"life":{"state":"running","activity":"starting","holds":[],"stopping":null,"drained":false,"midway":false,"attached":true},"signals":{"mask":[],"pending":[],"handlers":{}},"progress":{"step":2,"modelOpen":true,"attempt":1,"openCalls":[],"wholeStep":0,"turn":0,"turnOpen":false,"lastText":"text"},"usage":{"steps":1,"turns":0,"messagesSent":0,"toolCalls":1,"inputTokens":12345,"outputTokens":678,"cacheReadTokens":11000,"cacheWriteTokens":500,"contextTokens":24523,"costUsd":0.012345,"unpriced":false,"estimated":false},"queue":[],"clock":{"createdAt":1700000000006,"startedAt":1700000000007,"pausedAt":null,"exitedAt":null,"updatedAt":1700000000012,"lastActivityAt":1700000000012,"elapsedMs":0,"since":5,"sinceAt":1700000000007,"pausedMono":null},"containment":null,"handle":null,"checkpoint":null,"sessionId":null,"note":null,"originUuid":null,"originStep":null,"originSeq":null,"resumedFromStep":null,"retiredAt":null,"pinned":false}');
INSERT INTO journal VALUES (1, 1, 1, 1, 1700000000001, 1, 2099624473, '[1,{"name":"old","agent":"coder","driver":"native","intent":"write the tests","cwd":"/src/app","interactive":false,"model":"script:a.json","system":"You write tests.","tools":null,"deny":[],"argv":null,"env":{"LANG":"C.UTF-8"},"credentials":[],"containment":"auto","limits":{"maxSteps":100}},null,0,"user"]', NULL);
INSERT INTO journal VALUES (2, 1, 2, 1, 1700000000002, 2, 1461034381, '[5,true,null]', NULL);
INSERT INTO journal VALUES (3, 1, 3, 1, 1700000000003, 25, 1451926500, '["stdout",""]', '[[[1],"498cb33dab5304d7b7042d062968b7e71856e9ca0fe8cc6ad7101c801928f4e4",8500]]');
INSERT INTO journal VALUES (4, 1, 4, 1, 1700000000004, 9, 4064716443, '[{"code":0,"reason":"completed","cause":"agent"},9]', NULL);
INSERT INTO journal VALUES (5, 1, 5, 1, 1700000000005, 10, 3790069106, '[]', NULL);
INSERT INTO journal VALUES (6, 2, 1, 2, 1700000000006, 1, 1259644241, '[2,{"name":null,"agent":"coder","driver":"native","intent":"write the tests","cwd":"/src/app","interactive":false,"model":"script:a.json","system":"You write tests.","tools":null,"deny":[],"argv":null,"env":{"LANG":"C.UTF-8"},"credentials":[],"containment":"auto","limits":{"maxSteps":100}},null,0,"user"]', NULL);
INSERT INTO journal VALUES (7, 2, 2, 2, 1700000000007, 2, 2608178567, '[5,true,null]', NULL);
INSERT INTO journal VALUES (8, 2, 3, 2, 1700000000008, 25, 276111812, '["stdout",""]', '[[[1],"498cb33dab5304d7b7042d062968b7e71856e9ca0fe8cc6ad7101c801928f4e4",8500]]');
INSERT INTO journal VALUES (9, 2, 4, 2, 1700000000009, 29, 872612698, '[1,[{"type":"text","text":"text"},{"type":"tool-call","callId":"call_1","name":"read_file","input":{"path":"src/a.ts"}}],{"inputTokens":12345,"outputTokens":678,"cacheReadTokens":11000,"cacheWriteTokens":500,"costUsd":0.012345},"tool-calls",2345]', NULL);
INSERT INTO journal VALUES (10, 2, 5, 2, 1700000000010, 31, 2537006127, '[1,"call_1","read_file","read"]', NULL);
INSERT INTO journal VALUES (11, 2, 6, 2, 1700000000011, 32, 2812423105, '[1,"call_1","read_file","ok","content",12]', NULL);
INSERT INTO journal VALUES (12, 2, 7, 2, 1700000000012, 28, 1727536488, '[2,1,"anthropic/claude-sonnet-4-5"]', NULL);
INSERT INTO journal VALUES (13, 3, 1, 3, 1700000000013, 1, 3068231568, '[3,{"name":"gone","agent":"coder","driver":"native","intent":"write the tests","cwd":"/src/app","interactive":false,"model":"script:a.json","system":"You write tests.","tools":null,"deny":[],"argv":null,"env":{"LANG":"C.UTF-8"},"credentials":[],"containment":"auto","limits":{"maxSteps":100}},null,0,"user"]', NULL);
INSERT INTO journal VALUES (14, 3, 2, 3, 1700000000014, 2, 2701486315, '[5,true,null]', NULL);
INSERT INTO journal VALUES (15, 3, 3, 3, 1700000000015, 9, 415492020, '[{"code":0,"reason":"completed","cause":"agent"},9]', NULL);
INSERT INTO journal VALUES (16, 3, 4, 3, 1700000000016, 10, 501763592, '[]', NULL);
INSERT INTO places VALUES (3, 0, 13, '13,1,1,2,1,9,1,10');
INSERT INTO shared VALUES (1, 1);
INSERT INTO tombstones VALUES ('0192f3a4-0000-7abc-8def-000000000003', '300000000000fed8cba700004a3f2910', 3, 'gone', 1700000000500, 3894774469);
INSERT INTO doomed VALUES (3);
INSERT INTO blobs VALUES (1, x'498cb33dab5304d7b7042d062968b7e71856e9ca0fe8cc6ad7101c801928f4e4', CAST(replace(hex(zeroblob(850)), '0', 'long ') AS BLOB));
