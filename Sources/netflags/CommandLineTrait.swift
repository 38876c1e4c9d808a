// SPDX-License-Identifier: Apache-2.0

#if !CommandLine
    #error(
        "netflags needs the trait CommandLine of this package, for example `swift run --traits CommandLine netflags`"
    )
#endif
