// SPDX-License-Identifier: Apache-2.0

// As on Apple's platforms: whoever starts a monitor names a queue.
@_exported public import Dispatch
