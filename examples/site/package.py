# A Spack recipe: REPOSITORY/packages/collrules/package.py

from spack.package import *


class Collrules(MakefilePackage):
    """Measures Open MPI's collective operations on this cluster, and writes the rules file that makes them fast."""

    homepage = "https://github.com/collrules/collrules"
    url = "https://github.com/collrules/collrules/releases/download/v0.1.0/collrules-0.1.0-vendored.tar.xz"
    git = "https://github.com/collrules/collrules.git"

    license("MIT OR Apache-2.0")

    # The sources with all crates, which need no network. scripts/recipes writes the checksum of a release.
    version("main", branch="main")
    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("mpi", default=True, description="Build the worker that measures; without it, analysis alone")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    # The worker is built with the mpicc of this Open MPI, and runs under any of the same binary interface.
    depends_on("openmpi@4.0:6.0", when="+mpi")
    depends_on("llvm+clang", type="build", when="+mpi")

    build_targets = ["release", "SETUP=no"]

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["openmpi"].prefix.bin.mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
        else:
            env.set("FEATURES", "--no-default-features")

    @property
    def install_targets(self):
        return ["install", "SETUP=no", f"PREFIX={self.prefix}"]
