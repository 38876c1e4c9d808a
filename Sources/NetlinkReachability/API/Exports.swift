// SPDX-License-Identifier: Apache-2.0

// The types of RoutingModel that this module's API takes, returns and throws. A program needs only this import, and
// sees no other type of RoutingModel: docs/decisions/0018-addresses-alone-are-exported.md.
@_exported public import struct RoutingModel.IPAddress
@_exported public import struct RoutingModel.IPPrefix
@_exported public import struct RoutingModel.NetworkEvidence
@_exported public import struct RoutingModel.ReachabilityError
@_exported public import struct RoutingModel.ZoneIdentifier
