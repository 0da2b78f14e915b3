"""A ReFrame check: does the machine still behave as it did when it was tuned, and do its rules still hold?

    reframe -c reframe_drift.py -r -S CollrulesDrift.tuned=/opt/collrules/runs/5.0.7

collrules starts the MPI jobs itself, inside the allocation that ReFrame asks for: as many nodes and tasks as the run had.
"""

import json

import reframe as rfm
import reframe.utility.sanity as sn
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
    reference = {"*": {"now_over_then": (1.0, -0.10, 0.10, "x")}}

    @run_after("setup")
    def ask_for_the_run_s_nodes(self):
        self.num_tasks = self.nodes * self.tasks_per_node
        self.num_tasks_per_node = self.tasks_per_node

    @run_before("run")
    def start_without_a_launcher(self):
        # The run directory may be read-only for whoever runs the check.
        self.executable_opts = ["drift", self.tuned, "--cells", "20", "--out", "drift"]
        self.postrun_cmds = ["echo exit $?"]
        if hasattr(self, "job"):
            self.job.launcher.options = []

    @sanity_function
    def times_and_rules_are_as_they_were(self):
        return sn.assert_found(r"^exit 0$", self.stdout)

    @performance_function("x")
    def now_over_then(self):
        with open(f"{self.stagedir}/drift/drift.json") as file:
            return json.load(file)["together"]["ratio"]["point"]
