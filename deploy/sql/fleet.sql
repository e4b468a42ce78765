-- The questions of a fleet, over the datasets that rows.sql wrote below one folder.
--
--   duckdb -cmd "SET VARIABLE dataset='fleet'" -f fleet.sql
--
-- dataset: the folder above those of the loads. since: a day; older ones are not read. factor: `kernel` (default) or a key
-- of runs.facts; before, after: two of its values (default: the two that appeared last).
--
-- The unit is the host: its rounds resemble each other, so they say little about other hosts. Everything is computed
-- with logarithms of the time of an operation, so differences are ratios, and larger is slower.
SET preserve_insertion_order = false;
SET VARIABLE found = (
    SELECT CASE WHEN getvariable('dataset') IS NULL THEN error('SET VARIABLE dataset=... first')
                WHEN count(*) = 0 THEN error('no runs.parquet below ' || getvariable('dataset') || '; rows.sql writes it')
                ELSE count(*) END
    FROM glob(coalesce(getvariable('dataset') || '/**/runs.parquet', '')));

-- What counts: an outlier is 4 robust standard deviations above its group, which has at least 30 hosts (with 20, more
-- than one in a thousand would be called slow by chance), and at least the margin. A difference is claimed if it is at
-- least the margin and its interval, at 1 % for all questions of a table together (Bonferroni), excludes 0.
CREATE OR REPLACE MACRO z_limit() AS 4;
CREATE OR REPLACE MACRO fewest_in_group() AS 30;
CREATE OR REPLACE MACRO fewest_in_side() AS 5;
CREATE OR REPLACE MACRO margin() AS ln(1.03);
CREATE OR REPLACE MACRO percent(x) AS round(100 * (exp(x) - 1), 2);

-- Quantile of the normal distribution for a small upper tail (Abramowitz and Stegun 26.2.23), and Student's from it
-- (Wallace 1959), which is never too small: by 7 % too large with 4 degrees of freedom, by 1 % with 8.
CREATE OR REPLACE MACRO z_from(u) AS
    u - (2.515517 + 0.802853 * u + 0.010328 * u ** 2)
        / (1 + 1.432788 * u + 0.189269 * u ** 2 + 0.001308 * u ** 3);
CREATE OR REPLACE MACRO z_of(tail) AS z_from(sqrt(-2 * ln(tail)));
CREATE OR REPLACE MACRO t_from(z, v) AS sqrt(v * (exp((z * (8 * v + 3) / (8 * v + 1)) ** 2 / v) - 1));

-- Mean without the lowest and highest tenth, the square of its standard error and its degrees of freedom (Yuen): one
-- broken host moves neither. x is sorted.
CREATE OR REPLACE MACRO cut(x) AS (len(x) // 10)::BIGINT;
CREATE OR REPLACE MACRO middle(x) AS x[cut(x) + 1 : len(x) - cut(x)];
CREATE OR REPLACE MACRO trimmed(x) AS list_avg(middle(x));
CREATE OR REPLACE MACRO winsorised(x) AS
    list_concat(list_resize([]::DOUBLE[], cut(x), x[cut(x) + 1]), middle(x),
                list_resize([]::DOUBLE[], cut(x), x[len(x) - cut(x)]));
CREATE OR REPLACE MACRO freedom(x) AS len(x) - 2 * cut(x) - 1;
CREATE OR REPLACE MACRO error2(x) AS
    (len(x) - 1) * list_var_samp(winsorised(x)) / (freedom(x) + 1) / freedom(x);

-- The difference of two sorted lists, or of one from 0; those of several strata as one.
CREATE OR REPLACE MACRO difference(x, b) AS {
    'estimate': trimmed(x) - coalesce(trimmed(b), 0),
    'error2': error2(x) + coalesce(error2(b), 0),
    'freedom': (error2(x) + coalesce(error2(b), 0)) ** 2
               / (error2(x) ** 2 / freedom(x) + coalesce(error2(b) ** 2 / freedom(b), 0)),
    'weight': coalesce(len(x) * len(b) / (len(x) + len(b)), len(x))};
CREATE OR REPLACE MACRO together(d) AS {
    'estimate': list_sum([e.weight * e.estimate for e in d]) / list_sum([e.weight for e in d]),
    'error2': list_sum([e.weight ** 2 * e.error2 for e in d]) / list_sum([e.weight for e in d]) ** 2,
    'freedom': list_sum([e.weight ** 2 * e.error2 for e in d]) ** 2
               / list_sum([(e.weight ** 2 * e.error2) ** 2 / e.freedom for e in d]),
    'weight': list_sum([e.weight for e in d])};

-- How many questions a table has decides how wide its intervals are.
CREATE OR REPLACE MACRO with_intervals(estimates) AS TABLE
    SELECT *, percent(estimate) AS percent, percent(estimate - width) AS low_percent,
           percent(estimate + width) AS high_percent,
           abs(estimate) > width AND abs(estimate) >= margin() AS claimed
    FROM (SELECT * EXCLUDE (d), d.estimate,
                 sqrt(d.error2) * t_from(z_of(0.01 / 2 / questions), d.freedom) AS width
          FROM (SELECT *, count(*) OVER () AS questions FROM query_table(estimates)));

-- Documents that count, each once.
CREATE OR REPLACE TEMP TABLE runs AS
    SELECT DISTINCT ON (run_id) * EXCLUDE (file),
           CASE WHEN getvariable('factor') IS NULL OR getvariable('factor') = 'kernel' THEN kernel
                ELSE facts[getvariable('factor')] END AS side,
           concat_ws(', ', cpu, CASE WHEN getvariable('factor') <> 'kernel' THEN kernel END,
                     CASE WHEN coalesce(getvariable('factor'), '') <> 'frequency' THEN facts['frequency'] END,
                     CASE WHEN coalesce(getvariable('factor'), '') <> 'idle' THEN facts['idle'] END) AS stratum
    FROM read_parquet(getvariable('dataset') || '/**/runs.parquet')
    WHERE NOT interrupted AND host IS NOT NULL AND run >= coalesce(getvariable('since')::DATE, DATE '2000-01-01');

SET VARIABLE found = (
    SELECT CASE WHEN count(*) = 0
                THEN error('no finished run with a label host' || coalesce(' since ' || getvariable('since')::VARCHAR, ''))
                WHEN count(side) = 0
                THEN error('no fact ' || getvariable('factor') || '; there are: ' ||
                           (SELECT string_agg(DISTINCT key, ', ' ORDER BY key)
                            FROM (SELECT unnest(map_keys(facts)) AS key FROM runs)))
                WHEN (getvariable('before') IS NULL) <> (getvariable('after') IS NULL)
                THEN error('set both before and after, or neither')
                WHEN getvariable('before') = getvariable('after')
                THEN error('before and after are both ' || getvariable('before')) END
    FROM runs);
SET VARIABLE found = (
    SELECT error(coalesce(getvariable('factor'), 'kernel') || ' is never ' || value || '; its values: ' ||
                 array_to_string(list(side || ' (' || hosts || CASE hosts WHEN 1 THEN ' host)' ELSE ' hosts)' END
                                      ORDER BY hosts DESC, side)[:20], ', '))
    FROM (SELECT side, count(DISTINCT host) AS hosts FROM runs WHERE side IS NOT NULL GROUP BY side),
         (SELECT unnest([getvariable('before')::VARCHAR, getvariable('after')::VARCHAR]) AS value)
    WHERE value IS NOT NULL GROUP BY value HAVING NOT bool_or(side = value) LIMIT 1);

-- A unit is a host under one kernel and setting. If its runs differ in the factor, those of each value are a unit of the
-- comparison, and not the whole; all else is asked of whole units, whatever the factor.
CREATE OR REPLACE TEMP TABLE units AS
    SELECT row_number() OVER ()::INTEGER AS unit, *,
           row_number() OVER (PARTITION BY host ORDER BY whole DESC, latest DESC) = 1 AS newest
    FROM (SELECT host, cpu, kernel, setting, any_value(side) AS side, grouping(side) = 1 AS whole,
                 grouping(side) = 0 OR count(DISTINCT coalesce(side, '')) = 1 AS compared,
                 arg_max(stratum, run) AS stratum, list(run_id) AS run_ids, min(run) AS first, max(run) AS latest,
                 arg_max(facts, run) AS facts, arg_max(findings, run) AS findings, arg_max(grade, run) AS grade
          FROM runs GROUP BY GROUPING SETS ((host, cpu, kernel, setting), (host, cpu, kernel, setting, runs.side)))
    QUALIFY whole OR count(*) OVER (PARTITION BY host, cpu, kernel, setting, whole) > 1;
CREATE OR REPLACE TEMP TABLE run_units AS SELECT unnest(run_ids) AS run_id, unit FROM units;

-- The median of a cell's rounds in a unit. These two read all rounds; everything below reads only them.
CREATE OR REPLACE MACRO rounds() AS TABLE
    FROM read_parquet(getvariable('dataset') || '/**/data_*.parquet', hive_partitioning = true,
                      hive_types = {'kernel': VARCHAR, 'day': DATE})
    WHERE day >= coalesce(getvariable('since')::DATE, DATE '2000-01-01');
CREATE OR REPLACE TEMP TABLE cells AS
    SELECT row_number() OVER (ORDER BY id)::INTEGER AS cell, id, mechanism || ' ' || pattern AS what
    FROM (SELECT DISTINCT id, mechanism, pattern FROM rounds());
CREATE OR REPLACE TEMP TABLE measured AS
    SELECT unit, cell, ln(list_median(list(coalesce(p50_ns, 1e9 / messages_per_second)))) AS y
    FROM rounds() JOIN run_units USING (run_id) JOIN cells USING (id)
    WHERE rejected IS NULL AND proved AND coalesce(p50_ns, messages_per_second) > 0
    GROUP BY unit, cell;

-- What a mechanism takes: hosts, and quartiles of their medians, for each cell, CPU, kernel and setting.
CREATE OR REPLACE TEMP TABLE medians AS
    SELECT cpu, kernel, setting, what, id, cell, count(*) AS hosts, exp(median(y)) AS ns,
           exp(quantile_cont(y, 0.25)) AS q1_ns, exp(quantile_cont(y, 0.75)) AS q3_ns, median(y) AS middle
    FROM measured JOIN units USING (unit) JOIN cells USING (cell) WHERE whole GROUP BY ALL;

-- Which hosts are slow: the median over a host's cells of y above that of its group, and its robust z.
CREATE OR REPLACE TEMP TABLE outliers AS
    WITH scores AS (
        SELECT unit, cpu, kernel, setting, median(y - middle) AS score
        FROM measured JOIN units USING (unit) JOIN medians USING (cpu, kernel, setting, cell)
        WHERE whole GROUP BY ALL),
    spreads AS (
        SELECT cpu, kernel, setting, count(*) AS hosts, median(score) AS middle, 1.4826 * mad(score) AS spread
        FROM scores GROUP BY ALL)
    SELECT unit, host, cpu, kernel, setting, hosts, grade, score, percent(score) AS slower_percent,
           (score - middle) / nullif(spread, 0) AS z,
           CASE WHEN hosts >= fewest_in_group() THEN coalesce(z > z_limit() AND score >= margin(), false) END AS slow
    FROM scores JOIN spreads USING (cpu, kernel, setting) JOIN units USING (unit, cpu, kernel, setting);

-- What slow hosts have and at most a twentieth of the others of their group: findings of their documents, and facts.
CREATE OR REPLACE TEMP TABLE explained AS
    WITH has AS (
        SELECT unit, f.code AS what, any_value(f.text) AS text, any_value(f.remedy) AS remedy
        FROM (SELECT unit, unnest(findings) AS f FROM units) GROUP BY ALL
        UNION ALL
        SELECT unit, f.key || ' = ' || f.value, NULL, NULL
        FROM (SELECT unit, unnest(map_entries(facts)) AS f FROM units) WHERE NOT starts_with(f.key, 'label.')),
    others AS (
        SELECT cpu, kernel, setting, what, count(*) AS have FROM has JOIN outliers AS o USING (unit)
        WHERE NOT o.slow GROUP BY ALL),
    sizes AS (SELECT cpu, kernel, setting, count(*) AS hosts FROM outliers WHERE NOT slow GROUP BY ALL)
    SELECT unit, host, what, text, remedy, coalesce(have, 0) / sizes.hosts AS share_of_others
    FROM outliers JOIN has USING (unit) JOIN sizes USING (cpu, kernel, setting)
    LEFT JOIN others USING (cpu, kernel, setting, what)
    WHERE slow AND share_of_others <= 0.05;

-- Did a change make a mechanism slower? Hosts that were measured before and after are compared with themselves, others
-- with others of the same CPU, frequency and idle driver. A row for each of these strata, and one for all together.
SET VARIABLE sides = (
    SELECT CASE WHEN getvariable('before') IS NULL THEN list(side ORDER BY first, side)[-2:]
                ELSE [getvariable('before'), getvariable('after')] END
    FROM (SELECT side, min(first) AS first FROM units WHERE compared AND side IS NOT NULL GROUP BY side));
CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT unit, host, stratum, after, count(*) OVER (PARTITION BY host) AS sides,
           count(*) OVER (PARTITION BY host, stratum) AS sides_in_stratum
    FROM (FROM (SELECT *, side = getvariable('sides')[2] AS after FROM units
                WHERE compared AND len(getvariable('sides')) = 2 AND list_contains(getvariable('sides'), side))
          QUALIFY row_number() OVER (PARTITION BY host, after ORDER BY latest DESC) = 1);

CREATE OR REPLACE TEMP TABLE strata AS
    WITH pairs AS (
        SELECT a.stratum, a.host, a.unit AS after, b.unit AS before FROM chosen AS a JOIN chosen AS b
        ON a.host = b.host AND a.after AND NOT b.after AND a.sides_in_stratum = 2),
    after AS MATERIALIZED (SELECT * FROM measured JOIN pairs ON unit = after),
    same AS (
        SELECT stratum, host, what, median(after.y - measured.y) AS d
        FROM after JOIN measured ON measured.unit = before AND measured.cell = after.cell
        JOIN cells ON cells.cell = after.cell GROUP BY ALL),
    alone AS (SELECT unit, stratum, after FROM chosen WHERE sides = 1),
    middles AS (SELECT stratum, cell, median(y) AS middle FROM measured JOIN alone USING (unit) GROUP BY ALL),
    different AS (
        SELECT stratum, after, unit, what, median(y - middle) AS y
        FROM measured JOIN alone USING (unit) JOIN middles USING (stratum, cell) JOIN cells USING (cell) GROUP BY ALL),
    lists AS (
        SELECT stratum, what, 'same hosts' AS design, list_sort(list(d)) AS x, NULL AS before FROM same GROUP BY ALL
        UNION ALL
        SELECT stratum, what, 'different hosts', list_sort(list(y) FILTER (after)),
               list_sort(list(y) FILTER (NOT after))
        FROM different GROUP BY ALL)
    SELECT stratum, what, design, len(x) AS hosts, len(before) AS hosts_before, difference(x, before) AS d
    FROM lists
    WHERE len(x) >= fewest_in_side() AND (design = 'same hosts' OR len(before) >= fewest_in_side());
CREATE OR REPLACE TEMP TABLE estimates AS
    SELECT 'all' AS stratum, what, design, sum(hosts) AS hosts, sum(hosts_before) AS hosts_before,
           together(list(d)) AS d
    FROM strata GROUP BY what, design
    UNION ALL BY NAME
    FROM strata QUALIFY count(*) OVER (PARTITION BY what, design) > 1;
CREATE OR REPLACE TEMP TABLE changes AS FROM with_intervals('estimates');

-- What else differs between the sides, in at least half of the hosts that were measured on both: as likely a cause.
CREATE OR REPLACE TEMP TABLE also_changed AS
    WITH pairs AS (
        SELECT u.facts AS after, v.facts AS before
        FROM chosen AS x JOIN chosen AS y ON x.host = y.host AND x.after AND NOT y.after
        JOIN units AS u ON u.unit = x.unit JOIN units AS v ON v.unit = y.unit)
    SELECT key, count(*) AS hosts, mode(before[key]) AS before, mode(after[key]) AS after
    FROM (SELECT *, unnest(map_keys(map_concat(before, after))) AS key FROM pairs)
    WHERE before[key] IS DISTINCT FROM after[key] AND key IS DISTINCT FROM getvariable('factor')
    GROUP BY key HAVING hosts >= 0.5 * (SELECT count(*) FROM pairs);

-- Which fact goes with slow hosts: those that have it against the others of the same CPU, kernel and (if the fact is not
-- part of it) setting. This is association: hosts were not drawn by lot. Facts that part hosts alike share a row.
CREATE OR REPLACE TEMP TABLE estimates AS
    WITH now AS (SELECT unit, host, cpu, kernel, setting, facts FROM units WHERE newest),
    middles AS (SELECT cpu, kernel, cell, median(y) AS middle FROM measured JOIN now USING (unit) GROUP BY ALL),
    scores AS (
        SELECT unit, median(y - middle) AS y
        FROM measured JOIN now USING (unit) JOIN middles USING (cpu, kernel, cell) GROUP BY unit),
    keys AS (
        SELECT cpu, f.key, max(hosts) AS hosts
        FROM (SELECT cpu, unnest(map_entries(facts)) AS f, count(*) OVER (PARTITION BY cpu) AS hosts FROM now)
        GROUP BY ALL HAVING count(DISTINCT f.value) BETWEEN 2 AND 100 OR count(*) < max(hosts)),
    has AS (
        SELECT cpu, key, coalesce(facts[key], 'none') AS value, hash(host) AS who, y,
               kernel || CASE WHEN key IN ('idle', 'frequency') OR starts_with(key, 'mitigations.') THEN ''
                              ELSE ' ' || setting END AS stratum
        FROM now JOIN keys USING (cpu) JOIN scores USING (unit)),
    yes AS (
        SELECT cpu, key, stratum, value, list_sort(list(y)) AS x, bit_xor(who) AS who FROM has GROUP BY ALL
        HAVING count(*) >= fewest_in_side()),
    no AS (
        SELECT yes.cpu, yes.key, yes.stratum, yes.value, list_sort(list(y)) AS x, bit_xor(has.who) AS who
        FROM yes JOIN has ON has.cpu = yes.cpu AND has.key = yes.key AND has.stratum = yes.stratum
             AND has.value <> yes.value
        GROUP BY ALL HAVING count(*) >= fewest_in_side()),
    facts AS (
        SELECT cpu, key || ' = ' || value AS fact, sum(len(yes.x)) AS hosts, sum(len(no.x)) AS others,
               bit_xor(hash(stratum, yes.who)) AS who, bit_xor(hash(stratum, no.who)) AS who_not,
               together(list(difference(yes.x, no.x))) AS d
        FROM yes JOIN no USING (cpu, key, stratum, value) GROUP BY cpu, key, value)
    SELECT cpu, list(fact ORDER BY fact) AS facts, hosts, others, any_value(d) AS d
    FROM facts GROUP BY cpu, who, who_not, hosts, others
    QUALIFY row_number() OVER (PARTITION BY cpu, least(who, who_not), greatest(who, who_not)
                               ORDER BY any_value(d).estimate DESC) = 1;
CREATE OR REPLACE TEMP TABLE associations AS FROM with_intervals('estimates');

-- Each table below a line that says what it answers.
SELECT 'which hosts are slow: ' || count(DISTINCT host) FILTER (slow) || '; '
       || count(DISTINCT host) FILTER (slow IS NOT NULL) || ' of ' || count(DISTINCT host) || ' hosts judged'
       || CASE WHEN count(slow) = 0 THEN ': no group has ' || fewest_in_group()
               WHEN count(DISTINCT host) FILTER (slow IS NOT NULL) < count(DISTINCT host)
               THEN ', the others are in groups of fewer than ' || fewest_in_group() ELSE '' END AS outliers
FROM outliers;
SELECT host, cpu, kernel, setting, slower_percent, z, grade FROM outliers WHERE slow ORDER BY z DESC;
SELECT 'what slow hosts have, and at most a twentieth of the others of their group' AS explained;
SELECT host, what, text, share_of_others FROM explained ORDER BY host, share_of_others, what;
SELECT coalesce(getvariable('factor'), 'kernel')
       || coalesce(': ' || getvariable('sides')[1] || ' to ' || getvariable('sides')[2]
                   || CASE WHEN (SELECT count(*) FROM changes) = 0
                           THEN ', too few hosts (' || fewest_in_side() || ' on each side)' ELSE '' END,
                   ' has one value, so there is no change') AS changes;
SELECT what, stratum, design, hosts, percent, low_percent, high_percent, claimed
FROM changes ORDER BY claimed DESC, abs(percent) DESC;
SELECT 'what else changed, on at least half of the same hosts' AS also_changed;
FROM also_changed ORDER BY hosts DESC;
SELECT 'which facts go with slow or fast hosts' AS associations;
SELECT cpu, facts, hosts, others, percent, low_percent, high_percent, claimed
FROM associations ORDER BY claimed DESC, abs(percent) DESC;
SELECT 'what each mechanism takes: medians and quartiles over hosts' AS medians;
SELECT * EXCLUDE (cell, middle) FROM medians ORDER BY ALL;
