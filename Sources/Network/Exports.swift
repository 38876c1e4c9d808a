// SPDX-License-Identifier: Apache-2.0

// As on Apple's platforms: starting a monitor needs a queue.
@_exported public import Dispatch
