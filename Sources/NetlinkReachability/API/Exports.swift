// SPDX-License-Identifier: Apache-2.0

// The address types that this module's API takes and returns. A program needs one import for them, and sees no
// other type of RoutingModel: docs/decisions/0018-addresses-alone-are-exported.md.
@_exported public import struct RoutingModel.IPAddress
@_exported public import struct RoutingModel.IPPrefix
@_exported public import struct RoutingModel.ZoneIdentifier
