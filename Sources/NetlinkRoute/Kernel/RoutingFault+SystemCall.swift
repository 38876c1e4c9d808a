// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import SystemSupport

extension RoutingFault {
    /// Describes a system call that failed before a request could be sent.
    package init(_ error: SystemCallError) {
        self.init(kind: .systemCall, operation: error.operation, number: error.number)
    }
}
