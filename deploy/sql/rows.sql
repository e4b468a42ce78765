-- Documents of any number of hosts become a Parquet dataset: runs.parquet has a row for each document, rounds/ a row
-- for each round of each cell (key: run_id, id, round, "order"), partitioned by kernel and day. A second load replaces
-- the first.
--
--   duckdb -cmd "SET VARIABLE documents='results/**/*.json*'; SET VARIABLE load='fleet/2026-11-26'" -f rows.sql
--
-- documents: a pattern, or a list of them; packed files (.json.gz) are read, too. load: a folder for what this load
-- writes, which must exist. A file that is no result is named; the others are read.
SET preserve_insertion_order = false;
SET VARIABLE asked = (
    SELECT CASE WHEN getvariable('documents') IS NULL THEN error('SET VARIABLE documents=... first')
                WHEN getvariable('load') IS NULL THEN error('SET VARIABLE load=... first')
                ELSE coalesce(TRY_CAST(getvariable('documents') AS VARCHAR[]), [getvariable('documents')::VARCHAR]) END);

-- Only the reader for CSV unpacks files and does not stop at a broken one, so packed files are read as its lines. It
-- needs at least one file, so it gets any file, and the lines of a plain one are left out.
SET VARIABLE packed = (
    SELECT CASE WHEN count(*) = 0 THEN error('no such file: ' || getvariable('asked')::VARCHAR)
                ELSE list_distinct(coalesce(list(filename) FILTER (filename LIKE '%.gz'), []) || list(filename)[1:1]) END
    FROM read_blob(getvariable('asked')));
CREATE OR REPLACE TEMP TABLE unpacked AS
    SELECT filename AS file, string_agg(line, '') AS text
    FROM read_csv(getvariable('packed'), columns = {'line': 'VARCHAR'}, auto_detect = false, header = false,
                  delim = '\x01', quote = '', escape = '', max_line_size = 67108864, parallel = false, filename = true,
                  store_rejects = true)
    WHERE filename LIKE '%.gz' GROUP BY filename;
DELETE FROM unpacked WHERE file IN (
    SELECT file_path FROM reject_errors JOIN reject_scans USING (scan_id, file_id));

-- A file that is cut off or no UTF-8 has no document: no error of one file ends the load.
CREATE OR REPLACE MACRO documents_of(files) AS TABLE
    SELECT file, CASE WHEN json_valid(text) THEN text::JSON END AS document
    FROM (SELECT filename AS file,
                 CASE WHEN filename LIKE '%.gz' THEN unpacked.text ELSE TRY(decode(content)) END AS text
          FROM read_blob(files) LEFT JOIN unpacked ON filename = unpacked.file);

CREATE OR REPLACE TEMP TABLE read AS
    SELECT file, document IS NULL AS broken, document->>'schema' AS schema,
           from_json(document, '{"run_id": "VARCHAR", "labels": "MAP(VARCHAR, VARCHAR)", "started_utc": "TIMESTAMP",
               "duration_s": "DOUBLE", "interrupted": "BOOLEAN", "tool": {"version": "VARCHAR"},
               "invocation": {"plan": {"command": "VARCHAR"}},
               "host": {"cpu_model": "VARCHAR", "microcode": "VARCHAR", "cpus_online": ["BIGINT"],
                   "hypervisor": "VARCHAR", "container": "VARCHAR", "cpu_limit": "VARCHAR", "frequency": "VARCHAR", "idle": "VARCHAR"},
               "kernel": {"release": "VARCHAR", "mitigations": "MAP(VARCHAR, VARCHAR)",
                   "sysctl": "MAP(VARCHAR, VARCHAR)", "preemption": "VARCHAR", "sched_ext": "VARCHAR", "autogroup": "VARCHAR",
                   "sched_features": "MAP(VARCHAR, VARCHAR)", "hz": "VARCHAR", "shmem_huge_pages": "VARCHAR"},
               "noise": {"grade": "VARCHAR",
                   "findings": [{"code": "VARCHAR", "severity": "VARCHAR", "text": "VARCHAR", "remedy": "VARCHAR"}],
                   "machine": [{"code": "VARCHAR", "severity": "VARCHAR", "text": "VARCHAR", "remedy": "VARCHAR"}]}}')
               AS d
    FROM documents_of(getvariable('asked'));

-- One document counts once, also if two files have it.
CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT DISTINCT ON (d.run_id) * FROM read
    WHERE schema SIMILAR TO 'ipcperf\.result/2(\.[0-9]+)?' AND d.run_id IS NOT NULL AND d.started_utc IS NOT NULL
    ORDER BY file;

-- The entries of a map, each key with a prefix.
CREATE OR REPLACE MACRO named(prefix, pairs) AS
    list_transform(map_entries(coalesce(pairs, MAP {})), lambda e: {'key': prefix || e.key, 'value': e.value});

CREATE OR REPLACE TEMP TABLE runs AS
    SELECT d.run_id, d.started_utc AS run, file, nullif(d.labels['host'], '') AS host,
           concat_ws(', ', d.host.cpu_model, len(d.host.cpus_online) || ' CPUs', d.host.hypervisor) AS cpu,
           d.kernel.release AS kernel,
           concat_ws(', ', d.host.frequency, d.host.idle,
                     'mitigations ' || left(md5(d.kernel.mitigations::VARCHAR), 6)) AS setting,
           d.noise.grade, d.interrupted, d.tool.version AS tool, d.invocation.plan.command, d.duration_s,
           map_from_entries(list_filter(
               [{'key': 'microcode', 'value': d.host.microcode}, {'key': 'frequency', 'value': d.host.frequency},
                {'key': 'idle', 'value': d.host.idle}, {'key': 'container', 'value': d.host.container},
                {'key': 'cpu_limit', 'value': d.host.cpu_limit}, {'key': 'tool', 'value': d.tool.version},
                {'key': 'preemption', 'value': nullif(d.kernel.preemption, 'dynamic')}, {'key': 'hz', 'value': d.kernel.hz},
                {'key': 'sched_ext', 'value': d.kernel.sched_ext}, {'key': 'autogroup', 'value': d.kernel.autogroup},
                {'key': 'shmem_huge_pages', 'value': d.kernel.shmem_huge_pages}]
               || named('sched_features.', d.kernel.sched_features)
               || named('mitigations.', d.kernel.mitigations) || named('sysctl.', d.kernel.sysctl)
               || named('label.', d.labels), lambda e: e.key <> 'label.host' AND e.value IS NOT NULL)) AS facts,
           list_concat(d.noise.findings, d.noise.machine) AS findings
    FROM chosen;

SELECT count(*) AS documents, count(DISTINCT host) AS hosts, count(*) FILTER (host IS NULL) AS without_label_host,
       count(*) FILTER (interrupted) AS interrupted FROM runs;
SELECT file, CASE WHEN broken THEN 'left out: cut off, or no JSON'
                  WHEN schema IS NULL THEN 'left out: no schema key'
                  WHEN schema NOT LIKE 'ipcperf.result/2%' THEN 'left out: not ipcperf.result/2 but ' || schema
                  WHEN d.run_id IS NULL THEN 'left out: no run_id, of an older program'
                  ELSE 'left out: another file has its run_id' END AS remark
FROM read WHERE file NOT IN (SELECT file FROM chosen)
UNION ALL FROM (SELECT unnest(getvariable('asked')) AS file, 'no such file (a folder is read by FOLDER/*.json)')
          WHERE file NOT SIMILAR TO '.*[*?[].*' AND file NOT IN (SELECT file FROM read)
UNION ALL SELECT file, 'interrupted: not in the statistics' FROM runs WHERE interrupted
UNION ALL SELECT file, 'no label host: not in the statistics' FROM runs WHERE host IS NULL
ORDER BY ALL;
SET VARIABLE none = (SELECT CASE WHEN count(*) = 0 THEN error('no result among these files') END FROM runs);

COPY runs TO (getvariable('load') || '/runs.parquet') (FORMAT parquet, COMPRESSION zstd);

SET VARIABLE chosen = (SELECT list(file) FROM chosen);
COPY (
    WITH cells AS (
        SELECT document->>'run_id' AS run_id, document->'kernel'->>'release' AS kernel,
               (document->>'started_utc')::TIMESTAMP::DATE AS day,
               unnest(from_json(document->'cells', '[{"id": "VARCHAR", "mechanism": "VARCHAR", "wait": "VARCHAR",
                   "pattern": "VARCHAR", "size_bytes": "BIGINT", "placement": "VARCHAR", "idle": "VARCHAR",
                   "touch": "VARCHAR", "load": "JSON", "knobs": "JSON",
                   "rounds": {"round": ["BIGINT"], "order": ["BIGINT"], "rejected": ["VARCHAR"],
                       "cpus": [["BIGINT"]], "messages": ["BIGINT"], "moved": ["BIGINT"], "bytes": ["BIGINT"],
                       "lost": ["BIGINT"], "unanswered": ["BIGINT"], "elapsed_ns": ["DOUBLE"], "p50_ns": ["DOUBLE"],
                       "mean_ns": ["DOUBLE"], "messages_per_second": ["DOUBLE"], "offered_per_second": ["DOUBLE"],
                       "achieved_per_second": ["DOUBLE"], "saturated": ["BOOLEAN"],
                       "cpu_ns": {"lead": ["DOUBLE"], "follow": ["DOUBLE"], "user": ["DOUBLE"], "system": ["DOUBLE"]},
                       "covariates": {"cacheline_rtt_ns": ["DOUBLE"], "steal_ns": ["DOUBLE"],
                           "machine_window_ns": ["DOUBLE"], "machine_busy_ns": ["DOUBLE"], "energy_uj": ["DOUBLE"],
                           "lead": {"step_ns": ["DOUBLE"], "run_delay_ns": ["DOUBLE"]},
                           "follow": {"step_ns": ["DOUBLE"], "run_delay_ns": ["DOUBLE"]}},
                       "proof": {"holds": ["BOOLEAN"]}}}]')) AS c
        FROM documents_of(getvariable('chosen')))
    SELECT run_id, c.id, c.mechanism, c.wait, c.pattern, c.size_bytes, c.placement, c.idle, c.touch,
           c.load::VARCHAR AS load, c.knobs::VARCHAR AS knobs,
           unnest(c.rounds."order") AS "order", unnest(c.rounds.round) AS round, unnest(c.rounds.rejected) AS rejected,
           unnest(c.rounds.proof.holds) AS proved, unnest(c.rounds.cpus)[1] AS lead_cpu,
           unnest(c.rounds.cpus)[2] AS follow_cpu, unnest(c.rounds.messages) AS messages,
           unnest(c.rounds.moved) AS moved, unnest(c.rounds.bytes) AS bytes, unnest(c.rounds.lost) AS lost,
           unnest(c.rounds.unanswered) AS unanswered, unnest(c.rounds.elapsed_ns) AS elapsed_ns,
           unnest(c.rounds.p50_ns) AS p50_ns, unnest(c.rounds.mean_ns) AS mean_ns,
           unnest(c.rounds.messages_per_second) AS messages_per_second,
           unnest(c.rounds.offered_per_second) AS offered_per_second,
           unnest(c.rounds.achieved_per_second) AS achieved_per_second, unnest(c.rounds.saturated) AS saturated,
           unnest(c.rounds.cpu_ns."lead") AS lead_cpu_ns, unnest(c.rounds.cpu_ns.follow) AS follow_cpu_ns,
           unnest(c.rounds.cpu_ns."user") AS user_cpu_ns, unnest(c.rounds.cpu_ns.system) AS system_cpu_ns,
           unnest(c.rounds.covariates.cacheline_rtt_ns) AS cacheline_rtt_ns,
           unnest(c.rounds.covariates.steal_ns) AS steal_ns,
           unnest(c.rounds.covariates.machine_window_ns) AS machine_window_ns,
           unnest(c.rounds.covariates.machine_busy_ns) AS machine_busy_ns,
           unnest(c.rounds.covariates.energy_uj) AS energy_uj,
           unnest(c.rounds.covariates."lead".step_ns) AS lead_step_ns,
           unnest(c.rounds.covariates.follow.step_ns) AS follow_step_ns,
           unnest(c.rounds.covariates."lead".run_delay_ns) AS lead_run_delay_ns,
           unnest(c.rounds.covariates.follow.run_delay_ns) AS follow_run_delay_ns,
           kernel, day
    FROM cells
) TO (getvariable('load') || '/rounds') (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (kernel, day), OVERWRITE);
SELECT getvariable('load') AS written_to;
