// SPDX-License-Identifier: Apache-2.0

// As on Apple's platforms: starting a monitor needs a queue, and `import Network` also provides socket functions.
@_exported public import Dispatch
@_exported public import LinuxSocketAddresses
