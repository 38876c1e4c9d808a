// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
package import SystemSupport

extension RoutingFault {
    /// Describes a system call that failed before a question could be asked.
    package init(_ error: SystemCallError) {
        self.init(operation: error.operation, number: error.number)
    }
}
