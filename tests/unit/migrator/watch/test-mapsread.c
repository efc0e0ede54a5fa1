/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is known of the memory of a process, this one, and of the file systems of its files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/decide/decide.h"
#include "migrator/watch/mapsread.h"
#include "unit/lib/rows.h"

#define PAGES 64

static struct hm_devices devices;
static struct hm_claims claims;
static size_t n_asked; /* mappings whose owner was asked for */

bool __wrap_hm_powers_owns(pid_t pid, struct hm_range whole);

bool __wrap_hm_powers_owns(pid_t pid, struct hm_range whole)
{
    assert_int_equal(pid, getpid());
    assert_true(whole.n_pages > 0);
    n_asked++;
    return false;
}

static int set_up(void **state)
{
    (void)state;
    hm_devices_init(&devices);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hm_claims_free(&claims);
    return 0;
}

static void read_own(struct hm_maps *maps, uint32_t space, struct hm_claims *with)
{
    struct hm_error error = {{0}};
    const struct hm_maps_reader reader = {.pid = getpid(), .space = space, .devices = &devices, .claims = with};
    assert_int_equal(hm_maps_read(maps, &reader, &error), 0);
}

static uint64_t page_of(const void *address)
{
    return (uintptr_t)address >> hm_page_shift();
}

static char *map(int protection, int flags, int fd)
{
    char *memory = mmap(NULL, PAGES * hm_page_size(), protection, flags, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void test_files_that_are_put_aside(void **state)
{
    (void)state;
    struct hm_maps maps = {.n = 0};
    struct stat status;
    int fd = memfd_create("aside", 0);
    assert_int_equal(ftruncate(fd, (off_t)(PAGES * hm_page_size())), 0);
    assert_int_equal(fstat(fd, &status), 0);
    const char *memory = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    for (int aside = 0; aside < 2; aside++) {
        const struct hm_maps_file file = {(uint64_t)major(status.st_dev) << 32 | minor(status.st_dev), status.st_ino};
        const struct hm_maps_reader reader = {
            .pid = getpid(), .devices = &devices, .aside = &file, .n_aside = (size_t)aside};
        assert_int_equal(hm_maps_read(&maps, &reader, NULL), 0);
        assert_int_equal(hm_maps_count(&maps, page_of(memory), PAGES), aside ? 0 : PAGES);
    }
    hm_maps_free(&maps);
    close(fd);
}

static void test_kinds(void **state)
{
    (void)state;
    struct hm_maps maps = {.n = 0};
    int local;
    char *own = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    read_own(&maps, 3, NULL);
    assert_int_equal(hm_maps_count(&maps, page_of(own), PAGES), PAGES);
    assert_int_equal(hm_maps_kind(&maps, page_of(own)), HM_MEMORY_PRIVATE);
    assert_int_equal(hm_maps_count(&maps, page_of(&local), 1), 1); /* the stack */
    assert_int_equal(hm_maps_count(&maps, page_of(shared), PAGES), PAGES);
    const struct hm_mapped *mapped = hm_maps_mapped(&maps, page_of(shared));
    assert_non_null(mapped);
    assert_int_equal(mapped->kind, HM_MEMORY_SHARED);
    assert_int_equal(mapped->home + page_of(shared) - mapped->range.first, HM_PAGE(3, page_of(shared)));
    assert_false(mapped->is_own); /* this process has no capability to find that out */
    assert_int_equal(hm_maps_kind(&maps, (uintptr_t)test_kinds >> hm_page_shift()), HM_MEMORY_PROGRAM);
    assert_int_equal(hm_maps_count(&maps, (uintptr_t)test_kinds >> hm_page_shift(), 1), 0);
    munmap(own, PAGES * hm_page_size());
    munmap(shared, PAGES * hm_page_size());
    read_own(&maps, 3, NULL);
    assert_int_equal(hm_maps_count(&maps, page_of(own), PAGES), 0);
    assert_int_equal(hm_maps_kind(&maps, page_of(own)), HM_MEMORY_OTHER);
    hm_maps_free(&maps);
}

/* What a program or its loader has written to the program's data is the process's own; the rest is the file's. */
static void test_data_of_a_program(void **state)
{
    (void)state;
    static int written = 1;
    static const char constant[] = "never written";
    static const char *const of_the_loader[] = {constant}; /* the loader writes the address, then nobody may */
    struct hm_maps maps = {.n = 0};
    read_own(&maps, 0, NULL);
    assert_int_equal(hm_maps_kind(&maps, page_of(&written)), HM_MEMORY_PRIVATE);
    assert_int_equal(hm_maps_count(&maps, page_of(&written), 1), 1);
    assert_int_equal(hm_maps_kind(&maps, page_of(of_the_loader)), HM_MEMORY_PRIVATE);
    assert_int_equal(hm_maps_kind(&maps, page_of(constant)), HM_MEMORY_PROGRAM);
    hm_maps_free(&maps);
}

/* The part that is read-only since the loader wrote there has two pages. Where in the file the writable part begins, is
 * the linker's choice; what is elsewhere in the file is none of it. */
static void test_data_that_the_loader_made_read_only(void **state)
{
    (void)state;
    static const struct {
        const char *about;
        off_t first, next; /* pages of the file, where the two parts begin */
        enum hm_memory_kind kind;
    } rows[] = {
        {"one after the other, as ld has them", 1, 3, HM_MEMORY_PRIVATE},
        {"both in one page of the file, as lld has them", 1, 2, HM_MEMORY_PRIVATE},
        {"constants, and data from elsewhere", 1, 6, HM_MEMORY_PROGRAM},
        {"constants, and data from before them", 5, 2, HM_MEMORY_PROGRAM},
    };
    const size_t page = hm_page_size();
    int fd = memfd_create("program", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, 8 * (off_t)page) == 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_maps maps = {.n = 0};
        const int flags = MAP_PRIVATE | MAP_FIXED;
        char *code = mmap(NULL, 4 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        assert_ptr_not_equal(code, MAP_FAILED);
        char *first = mmap(code + page, 2 * page, PROT_READ, flags, fd, rows[i].first * (off_t)page);
        char *next = mmap(code + 3 * page, page, PROT_READ | PROT_WRITE, flags, fd, rows[i].next * (off_t)page);
        assert_true(first != MAP_FAILED && next != MAP_FAILED);
        read_own(&maps, 0, NULL);
        assert_int_equal(hm_maps_kind(&maps, page_of(code)), HM_MEMORY_PROGRAM);
        assert_int_equal(hm_maps_kind(&maps, page_of(next)), HM_MEMORY_PRIVATE);
        if (hm_maps_kind(&maps, page_of(first)) != rows[i].kind)
            fail_msg("%s", rows[i].about);
        hm_maps_free(&maps);
        munmap(code, 4 * page);
    }
    close(fd);
}

static void test_mapped_twice(void **state)
{
    (void)state;
    struct hm_maps first = {.n = 0}, second = {.n = 0};
    int fd = memfd_create("twice", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, PAGES * (off_t)hm_page_size()) == 0);
    char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd), *copied = map(PROT_READ, MAP_PRIVATE, fd);
    read_own(&first, 0, &claims);
    read_own(&second, 1, &claims); /* as if another process had mapped the same */
    assert_int_equal(hm_maps_count(&first, page_of(shared), PAGES), PAGES);
    assert_int_equal(hm_maps_count(&second, page_of(shared), PAGES), 0);
    const struct hm_mapped *alias = hm_maps_mapped(&second, page_of(shared));
    assert_true(alias && alias->is_alias && alias->may_move);
    assert_int_equal(alias->home, HM_PAGE(0, page_of(shared)));
    /* What a process writes to a private mapping of a file is its own. */
    assert_int_equal(hm_maps_count(&second, page_of(copied), PAGES), PAGES);
    munmap(shared, PAGES * hm_page_size());
    munmap(copied, PAGES * hm_page_size());
    close(fd);
    hm_maps_free(&first);
    hm_maps_free(&second);
}

/* A process may map a file at tens of thousands of places: who owns it is asked only for those that are kept. */
static void test_many_mappings(void **state)
{
    (void)state;
    enum { PLACES = 2 * HM_MAPS_MAPPED };
    struct hm_maps maps = {.n = 0};
    const size_t page = hm_page_size();
    int fd = memfd_create("many", MFD_CLOEXEC);
    char *room = mmap(NULL, 2 * PLACES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)page) == 0 && room != MAP_FAILED);
    for (size_t i = 0; i < PLACES; i++)
        assert_ptr_not_equal(mmap(room + 2 * i * page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), MAP_FAILED);
    n_asked = 0;
    read_own(&maps, 0, NULL);
    assert_int_equal(maps.n_mapped, HM_MAPS_MAPPED);
    assert_in_range(n_asked, 1, HM_MAPS_MAPPED);
    munmap(room, 2 * PLACES * page);
    close(fd);
    hm_maps_free(&maps);
}

static void test_no_process(void **state)
{
    (void)state;
    struct hm_maps maps = {.n = 0};
    struct hm_error error = {{0}};
    const struct hm_maps_reader reader = {.pid = 1 << 30, .devices = &devices};
    assert_int_equal(hm_maps_read(&maps, &reader, &error), -1);
    assert_non_null(strstr(error.text, "/maps"));
}

static void test_mounts(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum hm_memory_kind kind;
        uint64_t number, huge_bytes;
    } rows[] = {
        {"24 30 0:22 / /dev/shm rw,nosuid shared:3 - tmpfs tmpfs rw,inode64\n", HM_MEMORY_SHARED, 22, 0},
        {"24 30 0:22 / /a rw - ramfs none rw\n", HM_MEMORY_SHARED, 22, 0},
        {"24 30 0:40 / /dev/hugepages rw shared:4 - hugetlbfs hugetlbfs rw,pagesize=2M\n", HM_MEMORY_HUGETLB, 40,
         2 << 20},
        {"24 30 0:40 / /huge rw - hugetlbfs none rw,gid=7,pagesize=1024M,size=8G\n", HM_MEMORY_HUGETLB, 40, 1 << 30},
        {"24 30 0:40 / /huge rw - hugetlbfs none rw\n", HM_MEMORY_HUGETLB, 40, 0},
        {"24 30 0:40 / /huge rw - hugetlbfs none rw,pagesize=x\n", HM_MEMORY_HUGETLB, 40, 0},
        {"24 30 0:6 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=1\n", HM_MEMORY_OTHER, 6, 0},
        {"30 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n", HM_MEMORY_FILE, UINT64_C(254) << 32 | 1,
         0},
        {"30 1 259:0 / /mnt rw - ext4 /dev/pmem0 rw,dax=always\n", HM_MEMORY_OTHER, UINT64_C(259) << 32, 0},
        {"30 1 259:0 / /mnt rw - xfs /dev/pmem0 dax,rw\n", HM_MEMORY_OTHER, UINT64_C(259) << 32, 0},
        {"30 1 259:0 / /mnt rw - xfs /dev/pmem0 rw,dax=never,daxes\n", HM_MEMORY_FILE, UINT64_C(259) << 32, 0},
    };
    static const char *const bad[] = {"",
                                      "24 30 0:22",
                                      "24 30 0:22 / /dev/shm rw",
                                      "24 30 0:22 / / rw - tmpfs",
                                      "24 30 0:22 / / rw - tmpfs none",
                                      "x 30 0:22 / / rw - tmpfs none rw"};
    struct hm_device device;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (hm_devices_parse_mount(rows[i].line, &device) != 0 || device.kind != rows[i].kind ||
            device.number != rows[i].number || device.huge_bytes != rows[i].huge_bytes)
            fail_msg("%s", rows[i].line);
    }
    for (size_t i = 0; i < N_ROWS(bad); i++)
        if (hm_devices_parse_mount(bad[i], &device) != -1 || errno != EBADMSG)
            fail_msg("\"%s\" was taken", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_are_put_aside),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_data_of_a_program),
        cmocka_unit_test(test_data_that_the_loader_made_read_only),
        cmocka_unit_test(test_mapped_twice),
        cmocka_unit_test(test_many_mappings),
        cmocka_unit_test(test_no_process),
        cmocka_unit_test(test_mounts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
