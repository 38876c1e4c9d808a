// SPDX-License-Identifier: Apache-2.0

// On Apple's platforms `import SystemConfiguration` also provides `sockaddr`, `CFRunLoop` and `DispatchQueue`.
@_exported public import CSystemConfiguration
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Glibc
