// SPDX-License-Identifier: Apache-2.0

// What `import SystemConfiguration` brings on Apple's platforms: sources that import nothing else find their
// `sockaddr`, `CFRunLoop` and `DispatchQueue` there.
@_exported public import CSystemConfiguration
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Glibc
