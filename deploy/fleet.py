#!/usr/bin/env python3
"""One page about a fleet, from the datasets of rows.sql: slow hosts, changes, facts, medians.

fleet.py DATASET -o fleet.html [--since DAY] [--factor KEY --before VALUE --after VALUE]
"""

import argparse
import html
import pathlib
import sys

import duckdb

STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --dim: #5b6470; --line: #d5dae0; --page: #fff; --bar: #9db4cf;
        --slow: #b3261e; --fast: #1b6e3c; --band: #eef1f4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --dim: #9aa4af; --line: #3a424b; --page: #15181c; --bar: #4a678a; --slow: #ff8a80;
          --fast: #7fd6a0; --band: #20252b } }
body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0 auto; padding: 16px;
       max-width: 1100px; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem }
p { margin: .4rem 0; max-width: 46rem } .dim, th, figcaption { color: var(--dim); font-weight: normal }
li { margin: .2rem 0 } .slow { color: var(--slow) } .fast { color: var(--fast) }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: 3px 10px 3px 0; overflow-wrap: break-word;
         border-bottom: 1px solid var(--line) }
td.n { text-align: right; white-space: nowrap } .matrix th, .matrix td { min-width: 5.5rem }
.matrix th:first-child { position: sticky; left: 0; background: var(--page); min-width: 8rem; max-width: 14rem }
figure { margin: .6rem 0; font-size: .85rem } figure div { display: grid; gap: 2px 12px; align-items: center; margin: 2px 0;
         grid-template: "label bar words" / minmax(0, 17rem) minmax(0, 1fr) 10rem }
figure svg { grid-area: bar; width: 100%; height: 20px; display: block; background: var(--band) }
figure .n { grid-area: words; white-space: nowrap; font-variant-numeric: tabular-nums }
figcaption { grid-area: bar; display: flex; justify-content: space-between }
@media (max-width: 700px) {
  figure div { grid-template: "label words" "bar bar" / minmax(0, 1fr) auto; margin-bottom: 8px }
  .list table, .list tbody, .list tr { display: block } .list tr:has(th) { display: none }
  .list tr { padding: 6px 0; border-bottom: 1px solid var(--line) }
  .list td { border: 0; padding: 0 12px 0 0; display: inline-block } .list td.n { text-align: left }
  .list td::before { content: attr(data-head) " "; color: var(--dim) } }
"""


def text(value):
    return html.escape("" if value is None else str(value))


def time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if ns >= size or unit == "ns":
            return f"{ns / size:#.3g}".rstrip(".") + f" {unit}" if ns < 999.5 * size else f"{ns / size:.0f} {unit}"


def signed(value):
    return f"{round(value, 1) + 0.0:+.1f}"


def percent(value):
    return f"{signed(value)} %"


def interval(low, high):
    return f"[{signed(low)}, {signed(high)}]"


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def table(head, rows):
    """Cells of rows are text, or (text, class)."""

    def cell(name, value):
        content, kind = value if isinstance(value, tuple) else (value, "")
        return f'<td class="{kind}" data-head="{text(name)}">{text(content)}</td>'

    lines = "".join("<tr>" + "".join(map(cell, head, row)) + "</tr>" for row in rows)
    return (
        '<div class="wide list"><table><tr>'
        + "".join(f"<th>{text(h)}</th>" for h in head)
        + f"</tr>{lines}</table></div>"
    )


def picture(rows, edge, marks):
    """Rows of label, boxes (from, to), lines (at, class), and words; from -edge to edge percent, with lines at the marks."""
    edge *= 1.05

    def at(value):
        return round(50 + 50 * min(max(value / edge, -1), 1), 2)

    def line(value, name):
        return (
            f'<line x1="{at(value)}" x2="{at(value)}" y1="0" y2="20" vector-effect="non-scaling-stroke" '
            f'stroke="var(--{name})" stroke-width="{1 if name == "line" else 2.5}"/>'
        )

    out = ["<figure>"]
    for label, boxes, lines, words in rows:
        out.append(
            f'<div><span>{text(label)}</span><svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">'
            + "".join(line(mark, "line") for mark in marks)
            + "".join(
                f'<rect x="{at(a)}" width="{max(0.3, at(b) - at(a)):.2f}" y="6" height="8" fill="var(--bar)"/>'
                for a, b in boxes
            )
            + "".join(line(*each) for each in lines)
            + f'</svg><span class="n">{text(words)}</span></div>'
        )
    return (
        "".join(out)
        + f"<div><figcaption><span>{percent(-edge)}</span><span>0</span><span>{percent(edge)}</span></figcaption></div></figure>"
    )


def forest(rows):
    """Estimates with their intervals; the marks are 0 and the margin."""
    reach = max([6, *(abs(edge) for row in rows for edge in (row[2], row[3]))])
    reach = min(reach, 3 * max([6, *(abs(row[1]) for row in rows)]))
    return picture(
        [
            (
                label,
                [(low, high)],
                [(value, "slow" if claimed and value > 0 else "fast" if claimed else "ink")],
                f"{percent(value)} {interval(low, high)}",
            )
            for label, value, low, high, claimed in rows
        ],
        reach,
        [-3, 0, 3],
    )


def slow_hosts(ask):
    slow = ask(
        "SELECT unit, host, cpu, kernel, setting, slower_percent, z, grade FROM outliers WHERE slow ORDER BY z DESC"
    )
    judged, hosts, found = ask("""SELECT count(DISTINCT host) FILTER (slow IS NOT NULL), count(DISTINCT host),
                                      count(DISTINCT host) FILTER (slow) FROM outliers""")[0]
    groups = ask("""SELECT concat_ws(', ', cpu, kernel, setting), count(*), percent(quantile_cont(score, 0.05)), percent(median(score)),
                        percent(quantile_cont(score, 0.95)), list(percent(score)) FILTER (slow)
                    FROM outliers WHERE slow IS NOT NULL GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 24""")
    edge = max([10, *(abs(v) for g in groups for v in [g[2], g[4], *(g[5] or [])])])
    out = [
        "<h2>Slow hosts</h2>",
        "<p>A host is compared with its group: same CPU, kernel and setting. It is slow if the median over its cells is 4 "
        "robust standard deviations, and at least 3 %, above the group.</p>",
    ]
    if judged < hosts:
        out.append(f"<p>In no group of 30, which it takes to judge: {counted(hosts - judged, 'host')}.</p>")
    if groups:
        out.append(
            picture(
                [
                    (
                        name,
                        [(low, high)],
                        [(middle, "ink"), *((value, "slow") for value in found or [])],
                        f"{len(found or [])} of {count}",
                    )
                    for name, count, low, middle, high, found in groups
                ],
                edge,
                [0],
            )
        )
        out.append('<p class="dim">Boxes: nine tenths of the hosts. Red lines: slow hosts.</p>')
    reasons = {}
    for unit, what, words, share in ask("""SELECT unit, what, text, share_of_others FROM explained
            ORDER BY text IS NULL, share_of_others, what"""):
        others = f"{max(0.1, 100 * share):.1f} % of the others have it" if share else "none of the others has it"
        reasons.setdefault(unit, []).append(f"{what}{': ' + words if words else ''} ({others})")
    if slow:
        out.append(
            table(
                ["host", "slower", "z", "group", "grade", "finding"],
                [
                    [
                        host,
                        (percent(by), "n slow"),
                        (f"{z:.1f}", "n"),
                        f"{cpu}, {kernel}, {setting}",
                        grade,
                        "; ".join(reasons.get(unit, ["none that others have not"])[:3]),
                    ]
                    for unit, host, cpu, kernel, setting, by, z, grade in slow[:200]
                ],
            )
        )
        if len(slow) > 200:
            out.append(f"<p>And {len(slow) - 200} more.</p>")
    return (
        out,
        f"{found} of {counted(judged, 'host')} {'is' if found == 1 else 'are'} slow."
        if judged
        else "No group has the 30 hosts that it takes to call one slow.",
    )


def claim(name, whole, strata):
    """What is claimed of a mechanism, and of which groups: the average says nothing where a group's interval excludes it."""
    claimed = [row for row in strata if row[4]]
    others = [row[0] for row in strata if not row[4]]
    where = f" (not certain on {others[0] if len(others) == 1 else f'{len(others)} other groups'})" if others else ""
    if not claimed:
        return f"{name} {percent(whole[1])}", ""
    if whole[4] and all(low <= whole[1] <= high for _, _, low, high, *_ in strata):
        return f"{name} {percent(whole[1])}", where
    if len(claimed) == 1:
        return f"{name} {percent(claimed[0][1])}", f" on {claimed[0][0]}{where}"
    if len(claimed) == 2:
        return name, " " + " and ".join(f"{percent(row[1])} on {row[0]}" for row in claimed) + where
    differ = [row[1] for row in claimed]
    return f"{name} {percent(min(differ))} to {percent(max(differ))}", f" on {len(differ)} groups{where}"


def changes(ask, factor):
    name = "Kernel" if factor == "kernel" else factor
    before, after = (ask("SELECT getvariable('sides')")[0][0] + [None, None])[:2]
    if after is None:
        return [], f"There is one {factor}, so there is no change to judge."
    rows, strata = [], {}
    for what, stratum, *row in ask("""
            SELECT what || CASE WHEN (SELECT count(DISTINCT design) FROM changes) > 1 THEN ', ' || design ELSE '' END,
                   stratum, percent, low_percent, high_percent, claimed, hosts, hosts_before
            FROM changes ORDER BY claimed DESC, abs(percent) DESC, stratum"""):
        if stratum == "all":
            rows.append([what, *row])
        else:
            strata.setdefault(what, []).append([stratum, *row])
    told = {row[0] for row in rows if row[4]} | {what for what, those in strata.items() if any(row[4] for row in those)}
    rows.sort(key=lambda row: row[0] not in told)
    out = [
        f"<h2>{text(name)}: {text(before)} to {text(after)}</h2>",
        "<p>Hosts measured on both sides are compared with themselves, others with hosts of the same CPU, frequency and idle "
        "driver. Intervals hold jointly at 99 %. A difference is claimed if its interval excludes 0 and it is at least 3 %; "
        "lines mark 0 and 3 %.</p>",
    ]
    if not rows:
        out.append("<p>No CPU has 5 hosts on each side.</p>")
        return out, f"Too few hosts to compare {before} with {after}."
    shown = rows[: max(12, len(told))][:60]
    out.append(forest([row[:5] for row in shown]))
    if len(rows) > len(shown):
        out.append(
            f"<p>The other {len(rows) - len(shown)} differ by at most {max(abs(r[1]) for r in rows[len(shown) :]):.1f} %.</p>"
        )
    lines = [(what, *row) for what in sorted(told & strata.keys()) for row in strata[what]]
    if lines:
        out.append(
            "<details><summary>The claims by CPU, frequency and idle driver</summary>"
            + table(
                ["mechanism", "group", "after", "before", "difference", "interval", "claimed"],
                [
                    [
                        what,
                        stratum,
                        (count, "n"),
                        (count_before if count_before is not None else "the same", "n"),
                        (percent(by), "n"),
                        (interval(low, high), "n"),
                        "yes" if claimed else "no",
                    ]
                    for what, stratum, by, low, high, claimed, count, count_before in lines
                ],
            )
            + "</details>"
        )
    also = ask("SELECT key, before, after, hosts FROM also_changed ORDER BY hosts DESC, key")
    if also:
        out.append(
            "<p>This changed on the same hosts, too, and can be the cause as well:</p>"
            + table(["fact", "before", "after", "hosts"], [[k, b, a, (n, "n")] for k, b, a, n in also])
        )
    claims = {}
    for row in rows[: min(6, len(told))]:
        difference, where = claim(row[0], row, strata.get(row[0], []))
        claims.setdefault(where, []).append(difference)
    names = "; ".join(", ".join(those) + where for where, those in claims.items())
    names += f"; and {len(told) - 6} more" if len(told) > 6 else ""
    return out, f"{name} {before} to {after}: {names or 'no mechanism is certainly faster or slower by 3 %'}."


def facts_of_slow(ask):
    rows = ask("""SELECT cpu, facts, hosts, others, percent, low_percent, high_percent, claimed FROM associations
                  ORDER BY claimed DESC, abs(percent) DESC""")
    if not rows:
        return [], "No fact differs between enough hosts of one CPU."
    claims = [row for row in rows if row[7]]
    out = [
        "<h2>What goes with slow hosts</h2>",
        "<p>Hosts that have a fact against the others of the same CPU and kernel, over all cells. This is association: what "
        "else differs between these hosts can be the cause. Intervals hold jointly at 99 %.</p>",
        forest(
            [
                (
                    f"{cpu}: {' and '.join(facts[:4])}{' and more' if len(facts) > 4 else ''} ({counted(hosts, 'host')}, others {others})",
                    by,
                    low,
                    high,
                    claimed,
                )
                for cpu, facts, hosts, others, by, low, high, claimed in (claims or rows[:3])
            ]
        ),
    ]
    if claims and len(claims) < len(rows):
        out.append(f"<p>The other {len(rows) - len(claims)} facts have no certain difference of 3 %.</p>")
    names = "; ".join(
        f"{' and '.join(facts[:2])} {percent(by)} on {cpu}" for cpu, facts, _, _, by, _, _, _ in claims[:4]
    )
    return out, f"What goes with slow or fast hosts: {names}." if claims else "No fact goes with slow or fast hosts."


def matrix(ask):
    groups = ask("""SELECT cpu, kernel, setting, count(DISTINCT host) FROM outliers GROUP BY ALL
                    ORDER BY 4 DESC, 1, 2, 3 LIMIT 24""")
    places = {group[:3]: at for at, group in enumerate(sorted(groups))}
    lines = {}
    for identity, cpu, kernel, setting, ns in ask("""
            SELECT id, cpu, kernel, setting, ns FROM medians SEMI JOIN (
                SELECT id FROM medians GROUP BY what, id
                QUALIFY row_number() OVER (PARTITION BY what ORDER BY sum(hosts) DESC, len(id), id DESC) = 1) USING (id)
            ORDER BY what"""):
        if (cpu, kernel, setting) in places:
            lines.setdefault(identity, {})[places[cpu, kernel, setting]] = ns
    out = [
        "<h2>Medians</h2>",
        "<p>The median over hosts, of one cell for each mechanism and pattern: a round trip, or in streams the time "
        "for a message. Shades: slower than the fastest of the row, darkest from twice as slow.</p>",
        '<div class="wide matrix"><table><tr><th>cell</th>'
        + "".join(
            f"<th>{text(cpu)}<br>{text(kernel)}<br>{text(setting)}<br>{counted(hosts, 'host')}</th>"
            for cpu, kernel, setting, hosts in sorted(groups)
        )
        + "</tr>",
    ]
    for identity, values in lines.items():
        least = min(values.values())
        cells = []
        for at in range(len(groups)):
            ns = values.get(at)
            shade = min(1, ns / least - 1) * 55 if ns else 0
            cells.append(
                f'<td class="n" style="background: color-mix(in srgb, var(--slow) {shade:.0f}%, var(--page))">'
                f"{time(ns)}</td>"
                if ns
                else "<td></td>"
            )
        out.append(f"<tr><th>{text(identity)}</th>{''.join(cells)}</tr>")
    return [*out, "</table></div>"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dataset")
    options.add_argument("-o", "--output", required=True)
    for name in ("since", "factor", "before", "after"):
        options.add_argument(f"--{name}")
    options = options.parse_args()
    try:
        write(options)
    except (duckdb.Error, OSError) as error:
        print("fleet.py:", str(error).splitlines()[0].removeprefix("Invalid Input Error: "), file=sys.stderr)
        sys.exit(2)


def write(options):
    output = pathlib.Path(options.output)
    if not output.parent.is_dir():
        raise OSError(f"no folder {output.parent}")
    sql = duckdb.connect(config={"memory_limit": "1GB"})
    for name in ("dataset", "since", "factor", "before", "after"):
        sql.execute(f"SET VARIABLE {name} = $1", [getattr(options, name)])

    def ask(question):
        return sql.execute(question).fetchall()

    ask((pathlib.Path(__file__).parent / "sql" / "fleet.sql").read_text())
    hosts, runs, first, last = ask(
        "SELECT count(DISTINCT host), count(DISTINCT run_id), min(run)::DATE, max(run)::DATE FROM runs"
    )[0]
    left = ask("""SELECT count(DISTINCT run_id) FILTER (interrupted), count(DISTINCT run_id) FILTER (host IS NULL)
                  FROM read_parquet(getvariable('dataset') || '/**/runs.parquet')""")[0]
    parts = [slow_hosts(ask), changes(ask, options.factor or "kernel"), facts_of_slow(ask)]
    page = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>IPC of {counted(hosts, 'host')}</title><style>{STYLE}</style><h1>IPC of {counted(hosts, 'host')}</h1>",
        f"<p class='dim'>{counted(runs, 'run')}, {first} to {last}"
        + (f"; left out: {left[0]} interrupted, {left[1]} without label host" if any(left) else "")
        + "</p><ul>",
        *(f"<li>{text(answer)}</li>" for _, answer in parts),
        "</ul>",
        *(line for lines, _ in parts for line in lines),
        *matrix(ask),
    ]
    output.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
