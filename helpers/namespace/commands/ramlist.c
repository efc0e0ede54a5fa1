/* SPDX-License-Identifier: Apache-2.0 */
/* The command ram list: prints the DAX devices of persistent memory, and how much of each is online as memory. */
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "parts.h"

static const char *const drivers[] = {
    [HM_RAM_UNBOUND] = "disabled",
    [HM_RAM_DEVDAX] = "devdax",
    [HM_RAM_KMEM] = "ram",
};

static json_t *device_json(const struct hm_ram_device *device)
{
    const char *zone = hm_zone_name(hm_blocks_zone(&device->blocks));
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:s, s:o, s:i, s:I}", "device", device->name, "region", device->region,
                     "socket", device->socket < 0 ? json_null() : json_integer(device->socket), "node",
                     device->node < 0 ? json_null() : json_integer(device->node), "bytes", (json_int_t)device->bytes,
                     "mode", drivers[device->driver], "zone", zone[0] ? json_string(zone) : json_null(), "blocks",
                     (int)device->blocks.n, "online_bytes", (json_int_t)(device->blocks.online * device->blocks.bytes));
}

static void print_line(const struct hm_ram_device *device)
{
    char size[24], online[24];
    printf("%-12s socket %d  node %d  %s  %s  %s", device->name, device->socket, device->node, device->region,
           hm_size_format(device->bytes, size, sizeof(size)), drivers[device->driver]);
    if (device->blocks.online > 0)
        printf(", %s online in zone %s",
               hm_size_format(device->blocks.online * device->blocks.bytes, online, sizeof(online)),
               hm_zone_name(hm_blocks_zone(&device->blocks)));
    putchar('\n');
}

int hm_namespace_ram_list(const struct hm_config *config, const struct hm_namespace_request *request,
                          struct hm_error *error)
{
    struct hm_ram_device *devices = NULL;
    int status = HM_NAMESPACE_REFUSED;
    int n = hm_ram_choose(config, &request->sockets, &devices, error);
    json_t *shown = json_array();
    for (int i = 0; i < n; i++) {
        if (request->json)
            json_array_append_new(shown, device_json(&devices[i]));
        else
            print_line(&devices[i]);
    }
    if (n >= 0)
        status = request->json ? hm_json_print("devices", json_incref(shown), error) : HM_NAMESPACE_DONE;
    json_decref(shown);
    free(devices);
    return status;
}
