-- For Apache Otava: nights.csv, with a row for each night and a column for each cell, and otava.yaml, which names them.
--
--   duckdb -cmd "SET VARIABLE dataset='fleet'; SET VARIABLE folder='nights'" -f nights.sql
--   cd nights && OTAVA_CONFIG=otava.yaml otava analyze fleet
--
-- The folder must exist. A value is 100 times the median over hosts of a cell's time, each divided by the host's own
-- geometric mean over all nights: so a night with other hosts is no change. Only cells measured every night are included,
-- because Otava refuses gaps.
SET VARIABLE found = (
    SELECT CASE WHEN getvariable('dataset') IS NULL THEN error('SET VARIABLE dataset=... first')
                WHEN getvariable('folder') IS NULL THEN error('SET VARIABLE folder=... first')
                WHEN count(*) = 0 THEN error('no runs.parquet below ' || getvariable('dataset') || '; rows.sql writes it')
                ELSE count(*) END
    FROM glob(coalesce(getvariable('dataset') || '/**/runs.parquet', '')));
CREATE OR REPLACE TEMP TABLE measured AS
    SELECT host, id, day, ln(median(coalesce(p50_ns, 1e9 / messages_per_second))) AS y, mode(r.kernel) AS kernel
    FROM read_parquet(getvariable('dataset') || '/**/data_*.parquet', hive_partitioning = true,
                      hive_types = {'kernel': VARCHAR, 'day': DATE}) AS r
    JOIN (SELECT DISTINCT run_id, host FROM read_parquet(getvariable('dataset') || '/**/runs.parquet')
          WHERE NOT interrupted AND host IS NOT NULL) USING (run_id)
    WHERE rejected IS NULL AND proved AND coalesce(p50_ns, messages_per_second) > 0
    GROUP BY host, id, day;

CREATE OR REPLACE TEMP TABLE nights AS
    SELECT id, day, mode(kernel) AS kernel, round(100 * exp(median(y - own)), 2) AS value
    FROM (SELECT *, avg(y) OVER (PARTITION BY host, id) AS own FROM measured)
    GROUP BY id, day QUALIFY count(*) OVER (PARTITION BY id) = (SELECT count(DISTINCT day) FROM measured);
SET VARIABLE found = (
    SELECT CASE WHEN count(*) = 0
                THEN error('no cell was measured in all ' || (SELECT count(DISTINCT day) FROM measured) || ' nights') END
    FROM nights);
SELECT count(DISTINCT id) || ' of ' || (SELECT count(DISTINCT id) FROM measured)
       || ' cells are left out, not measured every night' || coalesce('; the first: ' || min(id), '') AS left_out
FROM measured WHERE id NOT IN (SELECT id FROM nights);

CREATE OR REPLACE TEMP TABLE wide AS PIVOT nights ON id USING first(value) GROUP BY day;
COPY (SELECT strftime(day, '%Y-%m-%d 00:00:00 +0000') AS time, mode(kernel) AS kernel,
             any_value(COLUMNS(wide.* EXCLUDE (day)))
      FROM wide JOIN nights USING (day) GROUP BY day ORDER BY day)
TO (getvariable('folder') || '/nights.csv') (FORMAT csv, HEADER);

-- A name in double quotes is YAML as it is JSON.
COPY (
    SELECT unnest(list_concat(
        ['tests:', '  fleet:', '    type: csv', '    file: nights.csv', '    time_column: time',
         '    attributes: [kernel]', '    metrics:'],
        list('      ' || to_json(id) || ': {column: ' || to_json(id) || ', direction: -1, scale: 1}' ORDER BY id)))
    FROM (SELECT DISTINCT id FROM nights)
) TO (getvariable('folder') || '/otava.yaml') (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01');
