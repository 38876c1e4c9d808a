// SPDX-License-Identifier: Apache-2.0

@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import LinuxSocketAddresses
// On Apple's platforms `import SystemConfiguration` also provides `sockaddr`, `CFRunLoop` and `DispatchQueue`.
@_exported public import LinuxSystemConfiguration
