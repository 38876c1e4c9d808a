// SPDX-License-Identifier: Apache-2.0

// The values that this module's API is made of: a program needs one import.
@_exported public import RoutingModel
