/* SPDX-License-Identifier: Apache-2.0 */

/* The umbrella of the system library target: sd-bus, which speaks D-Bus. Only NetworkManagers imports it, and only with
 * the trait of that name, so that nothing else needs the header. */

#ifndef CSYSTEMD_SYSTEMD_H
#define CSYSTEMD_SYSTEMD_H

#include <systemd/sd-bus.h>

#endif
