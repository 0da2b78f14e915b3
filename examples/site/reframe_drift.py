"""A ReFrame check: does the machine still behave as it did when it was tuned, and do its rules still hold?

    reframe -c reframe_drift.py -r -S CollrulesDrift.tuned=/opt/collrules/runs/5.0.7

collrules starts the MPI jobs itself, inside the allocation that ReFrame asks for: as many nodes and tasks as the run had. So it
is started once, by no launcher. The check passes if times are as they were (exit code 0: within the 10 % of --min-change over all
sizes together); its number for the history is the ratio of the times, which has no limits of its own.
"""

import json

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable


@rfm.simple_test
class CollrulesDrift(rfm.RunOnlyRegressionTest):
    tuned = variable(str, value="/opt/collrules/runs/5.0.7")
    nodes = variable(int, value=8)
    tasks_per_node = variable(int, value=32)

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    descr = "collrules drift: times and rules against those of the run"
    executable = "collrules"
    time_limit = "10m"

    @run_after("setup")
    def ask_for_the_run_s_nodes(self):
        self.num_tasks = self.nodes * self.tasks_per_node
        self.num_tasks_per_node = self.tasks_per_node

    @run_after("setup")
    def start_without_a_launcher(self):
        self.job.launcher = getlauncher("local")()

    @run_before("run")
    def write_into_the_stage(self):
        # The run directory may be read-only for whoever runs the check.
        self.executable_opts = ["drift", self.tuned, "--cells", "20", "--out", "drift"]
        self.postrun_cmds = ["echo exit $?"]

    @sanity_function
    def times_and_rules_are_as_they_were(self):
        return sn.assert_found(r"^exit 0$", self.stdout)

    @performance_function("x")
    def now_over_then(self):
        with open(f"{self.stagedir}/drift/drift.json") as file:
            return json.load(file)["together"]["ratio"]["point"]
