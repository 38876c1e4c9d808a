// SPDX-License-Identifier: Apache-2.0

// What a simulated host is made of, for tests that add routes and rules of their own.
@_exported public import struct RoutingModel.HardwareType
@_exported public import struct RoutingModel.InterfaceAddress
@_exported public import struct RoutingModel.InterfaceAddressFlags
@_exported public import struct RoutingModel.Link
@_exported public import struct RoutingModel.LinkFlags
@_exported public import struct RoutingModel.Masked
@_exported public import struct RoutingModel.Nexthop
@_exported public import struct RoutingModel.NexthopFlags
@_exported public import struct RoutingModel.OperationalState
@_exported public import struct RoutingModel.Route
@_exported public import struct RoutingModel.RouteScope
@_exported public import struct RoutingModel.RouteType
@_exported public import enum RoutingModel.RouterPreference
@_exported public import struct RoutingModel.Rule
