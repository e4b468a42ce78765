# Measures each node of a partition with ipcperf, which is on the PATH there:
#   reframe -c ipcperf_check.py -r --distribute=all --performance-report
#   reframe -c ipcperf_check.py -r --distribute=all -S 'arguments=run fleet.toml --rounds 80'
# The documents are in ReFrame's output folder. Judge changes with them ('ipcperf compare'): ReFrame compares single
# values, which have no interval.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

DOCUMENT = 'ipcperf.json'
JOBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'jobs')


@rfm.simple_test
class IpcperfCheck(rfm.RunOnlyRegressionTest):
    descr = 'Round trips and throughput between two processes of a node'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'ipcperf'
    exclusive_access = True
    time_limit = '10m'
    keep_files = [DOCUMENT]
    # The folder of fleet.toml; a copy of this file alone measures what 'arguments' says.
    sourcesdir = JOBS if os.path.isdir(JOBS) else None
    # What to measure: the command line of ipcperf.
    arguments = variable(str, value='run fleet.toml')

    @run_before('run')
    def prepare(self):
        self.executable_opts = [*self.arguments.split(), '-o', DOCUMENT]
        # Slurm may pin one task to one CPU.
        self.env_vars['SLURM_CPU_BIND'] = 'none'
        self.env_vars['IPCPERF_LABELS'] = 'host=${SLURMD_NODENAME:-$(hostname -s)},job=${SLURM_JOB_ID:-none}'

    def document(self):
        with open(os.path.join(self.stagedir, DOCUMENT), encoding='utf-8') as file:
            return json.load(file)

    @sanity_function
    def is_whole(self):
        document = self.document()
        bad = [cell['id'] for cell in document['cells'] if cell['status'] not in ('ok', 'unavailable')]
        return sn.all([
            sn.assert_false(document['interrupted'], 'the run was interrupted'),
            sn.assert_eq(bad, [], 'cells without a number: {0}'),
        ])

    @run_before('performance')
    def every_cell(self):
        """A variable for each cell: the median round trip, or the throughput."""
        for cell in self.document()['cells']:
            for metric, scale, unit in (
                (cell.get('rtt_ns', {}).get('p50'), 1e-3, 'us'),
                (cell.get('bytes_per_second'), 1e-6, 'MB/s'),
            ):
                if metric and metric['value'] is not None:
                    value = float(f"{metric['value'] * scale:.4g}")
                    name = cell['id'].replace(' ', '_')
                    self.perf_variables[name] = sn.make_performance_function(lambda value=value: value, unit)
