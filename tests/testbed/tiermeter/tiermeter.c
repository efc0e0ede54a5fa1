// SPDX-License-Identifier: Apache-2.0
/*
 * tiermeter: a QEMU TCG plugin that counts a guest's user-mode loads and stores by the memory that served them.
 *
 * It sees each access with its physical address, so the guest cannot deceive it, and need not help it. It counts into a
 * shared file, with one cell for each CPU and each block of 128 MiB of physical memory. The reader of the file knows
 * which NUMA node a block belongs to, so memory may come and go while the guest runs.
 *
 * It counts instructions in user mode only, not the kernel's work for a process (clearing and copying pages, read(),
 * migration). All processes are counted alike: keep the guest quiet.
 *
 * It watches while the reader has `is_watching` set in the file: code that is not watched runs some times as fast.
 *
 * Where it is given a second file, it also counts by line of memory: so a reader who knows whose memory a line is can
 * tell what each part of a program would have had from another node.
 *
 * Load: -plugin tiermeter.so,out=FILE[,lines=FILE]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The part of QEMU's plugin interface that is used here, from qemu-plugin.h of QEMU 9 and 10: Debian does not package
 * that header.
 */
#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

typedef void (*simple_callback)(qemu_plugin_id_t id);
typedef void (*translation_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*memory_callback)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translation_callback callback);
void qemu_plugin_reset(qemu_plugin_id_t id, simple_callback callback);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, memory_callback callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw, void *data);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);

EXPORT int qemu_plugin_version = 4;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

#define MAX_CPUS 16    /* what other CPUs do is not counted */
#define BLOCK_SHIFT 27 /* 128 MiB, the unit in which Linux adds memory */
#define BLOCKS 256     /* 32 GiB; the last block takes what is above */
#define LINE_SHIFT 6
#define PAGE_LINES 64
#define LINES ((uint64_t)BLOCKS << (BLOCK_SHIFT - LINE_SHIFT))
#define CACHE_LINES 16384 /* 1 MiB for each CPU */

/* Counters of one CPU and block; hostside/meter.py knows the order. */
struct cell {
    uint64_t reads, writes;           /* instructions' accesses */
    uint64_t read_bytes, write_bytes; /* bytes that these moved */
    uint64_t line_reads, line_writes; /* 64-byte lines that the cache model fetched, and wrote back */
};

/* The shared file. The head tells a reader its shape. */
struct board {
    uint64_t cpus, blocks, block_bytes;
    uint64_t is_watching; /* 0 or 1; set by the reader */
    struct cell cells[MAX_CPUS][BLOCKS];
};

static struct board *board;
static uint32_t *line_counts; /* by line of the blocks: fetched and written back; NULL: not counted */
static bool is_watching;      /* is the code watched that is translated now? */
static bool is_resetting;     /* QEMU drops all translated code soon */

/*
 * The cache model: direct-mapped, write-back, allocating on loads and stores, one for each CPU, physically indexed,
 * not coherent. Far from a real cache, but it tells streaming from reuse. An entry is (line + 1) << 1 | dirty.
 */
static uint64_t cache[MAX_CPUS][CACHE_LINES];

static struct cell *cell_of(unsigned int cpu, uint64_t physical)
{
    uint64_t block = physical >> BLOCK_SHIFT;

    return &board->cells[cpu][block < BLOCKS ? block : BLOCKS - 1];
}

static void count_line(uint64_t line)
{
    if (line_counts && line < LINES)
        line_counts[line]++;
}

static void cache_touch(unsigned int cpu, uint64_t line, bool store)
{
    uint64_t *entry = &cache[cpu][line % CACHE_LINES];

    if (*entry >> 1 != line + 1) {
        if (*entry & 1) {
            uint64_t old = (*entry >> 1) - 1;
            cell_of(cpu, old << LINE_SHIFT)->line_writes++;
            count_line(old);
        }
        cell_of(cpu, line << LINE_SHIFT)->line_reads++;
        count_line(line);
        *entry = (line + 1) << 1;
    }
    *entry |= store;
}

static void count_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    const struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, address);
    uint64_t physical, bytes, last;
    struct cell *cell;
    bool store;

    (void)data;
    if (cpu >= MAX_CPUS || !hwaddr || qemu_plugin_hwaddr_is_io(hwaddr))
        return;
    physical = qemu_plugin_hwaddr_phys_addr(hwaddr);
    bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    store = qemu_plugin_mem_is_store(info);
    cell = cell_of(cpu, physical);
    if (store) {
        cell->writes++;
        cell->write_bytes += bytes;
    } else {
        cell->reads++;
        cell->read_bytes += bytes;
    }
    cache_touch(cpu, physical >> LINE_SHIFT, store);
    /* An access may reach into the next line. One in the next page is not counted: its physical address is unknown. */
    last = (physical + bytes - 1) >> LINE_SHIFT;
    if (last != physical >> LINE_SHIFT && last % PAGE_LINES)
        cache_touch(cpu, last, store);
}

static void begin(qemu_plugin_id_t id);

/*
 * What is translated stays so until it is dropped: when the reader changes its mind, all is dropped. A guest translates
 * something many times a second. A kernel address has its top bit set: only code of user mode pays for being watched.
 */
static void watch_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    if (!is_resetting && is_watching != (__atomic_load_n(&board->is_watching, __ATOMIC_RELAXED) != 0)) {
        is_resetting = true;
        qemu_plugin_reset(id, begin);
    }
    if (is_resetting || !is_watching || qemu_plugin_tb_vaddr(tb) >> 63)
        return;
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), count_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, NULL);
}

/* At the start, and after each reset, which has dropped the callbacks, too. */
static void begin(qemu_plugin_id_t id)
{
    is_watching = __atomic_load_n(&board->is_watching, __ATOMIC_RELAXED) != 0;
    is_resetting = false;
    qemu_plugin_register_vcpu_tb_trans_cb(id, watch_block);
}

/* Maps a file that the reader has made, of so many bytes, most of which stay holes. */
static void *map_file(const char *path, size_t bytes)
{
    void *map = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        perror(path);
    if (fd >= 0)
        close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static struct board *board_open(const char *path)
{
    struct board *map = map_file(path, sizeof(*map));

    if (!map)
        return NULL;
    map->cpus = MAX_CPUS;
    map->blocks = BLOCKS;
    map->block_bytes = UINT64_C(1) << BLOCK_SHIFT;
    return map;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    if (argc < 1 || argc > 2 || strncmp(argv[0], "out=", 4) != 0 || (argc == 2 && strncmp(argv[1], "lines=", 6) != 0)) {
        fprintf(stderr, "tiermeter: out=FILE is needed, and lines=FILE may follow\n");
        return -1;
    }
    board = board_open(argv[0] + 4);
    if (board && argc == 2)
        line_counts = map_file(argv[1] + 6, LINES * sizeof(*line_counts));
    if (!board || (argc == 2 && !line_counts))
        return -1;
    begin(id);
    return 0;
}
