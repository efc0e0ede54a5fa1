/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which programs may have a library of ours loaded before them, by files that have no more than what is read. */
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/preloadable.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define LOADED 0x400000 /* address of the file's first byte in memory */
#define MUSL "/lib/ld-musl-x86_64.so.1"
#define OTHER_LOADER "starts by another loader than hybridmem (" MUSL "), and so with another libc"

struct program {
    ElfW(Ehdr) elf;
    ElfW(Phdr) header[3];
    ElfW(Dyn) dynamic[4];
    char names[128];
    char loader[PATH_MAX];
};

static char own_loader[PATH_MAX];

/* The loader of this test. */
static int find_loader(void **state)
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) header;
    FILE *in = fopen("/proc/self/exe", "r");
    assert_non_null(in);
    assert_int_equal(fread(&elf, sizeof(elf), 1, in), 1);
    assert_int_equal(fseek(in, (long)elf.e_phoff, SEEK_SET), 0);
    do
        assert_int_equal(fread(&header, sizeof(header), 1, in), 1);
    while (header.p_type != PT_INTERP);
    assert_int_equal(fseek(in, (long)header.p_offset, SEEK_SET), 0);
    assert_int_equal(fread(own_loader, header.p_filesz, 1, in), 1);
    fclose(in);
    return scratch_make(state);
}

/* `loader`: NULL, there is none. The program needs libc and `library`. */
static void make(struct program *program, const char *loader, const char *library)
{
    memset(program, 0, sizeof(*program));
    memcpy(program->elf.e_ident, ELFMAG, SELFMAG);
    program->elf.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    program->elf.e_phoff = offsetof(struct program, header);
    program->elf.e_phentsize = sizeof(program->header[0]);
    program->elf.e_phnum = N_ROWS(program->header);
    program->header[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = LOADED, .p_filesz = sizeof(*program)};
    program->header[1] = (ElfW(Phdr)){
        .p_type = PT_DYNAMIC, .p_offset = offsetof(struct program, dynamic), .p_filesz = sizeof(program->dynamic)};
    if (loader)
        program->header[2] = (ElfW(Phdr)){
            .p_type = PT_INTERP, .p_offset = offsetof(struct program, loader), .p_filesz = strlen(loader) + 1};
    snprintf(program->loader, sizeof(program->loader), "%s", loader ? loader : "");
    int length = snprintf(program->names + 1, sizeof(program->names) - 1, "libc.so.6");
    snprintf(program->names + length + 2, sizeof(program->names) - (size_t)length - 2, "%s", library);
    program->dynamic[0] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    program->dynamic[1] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = (uint64_t)length + 2};
    program->dynamic[2] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = LOADED + offsetof(struct program, names)};
}

static char *put(const char *name, const void *content, size_t length)
{
    char *path = scratch_path("%s", name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(content, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
    return path;
}

static void check(const char *path, enum hm_preloadable wanted, const char *why)
{
    char said[HM_PRELOADABLE_WHY];
    assert_int_equal(hm_preloadable(path, said), wanted);
    assert_string_equal(said, why);
}

static void test_programs(void **state)
{
    const struct {
        const char *loader, *library;
        enum hm_preloadable wanted;
        const char *why;
    } rows[] = {
        {own_loader, "libm.so.6", HM_PRELOADABLE, ""},
        {own_loader, "libubsan.so.1", HM_PRELOADABLE, ""},
        {NULL, "", HM_PRELOADABLE_IGNORES, "is linked statically"},
        {MUSL, "libm.so.6", HM_PRELOADABLE_BREAKS, OTHER_LOADER},
        {own_loader, "libasan.so.8", HM_PRELOADABLE_BREAKS,
         "is linked with libasan.so.8, which has to be the first library"},
        {own_loader, "libclang_rt.tsan-x86_64.so", HM_PRELOADABLE_BREAKS,
         "is linked with libclang_rt.tsan-x86_64.so, which has to be the first library"},
    };
    struct program program;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        make(&program, rows[i].loader, rows[i].library);
        check(put("program", &program, sizeof(program)), rows[i].wanted, rows[i].why);
    }
}

/* The same file has several names, as where /lib64 is a link. */
static void test_our_loader_by_another_name(void **state)
{
    struct program program;
    (void)state;
    const char *name = scratch_path("loader");
    assert_int_equal(symlink(own_loader, name), 0);
    make(&program, name, "");
    check(put("program", &program, sizeof(program)), HM_PRELOADABLE, "");
}

static void test_scripts(void **state)
{
    struct program program;
    char text[PATH_MAX];
    (void)state;
    make(&program, MUSL, "");
    snprintf(text, sizeof(text), "#! %s -x\n", put("shell", &program, sizeof(program)));
    check(put("script", text, strlen(text)), HM_PRELOADABLE_BREAKS, OTHER_LOADER);
    snprintf(text, sizeof(text), "#!%s", scratch_path("script"));
    check(put("outer", text, strlen(text)), HM_PRELOADABLE_BREAKS, OTHER_LOADER);
    snprintf(text, sizeof(text), "#!%s", scratch_path("itself"));
    check(put("itself", text, strlen(text)), HM_PRELOADABLE, "");
    check(put("empty", "#!", 2), HM_PRELOADABLE, "");
}

/* What cannot be read is left to the kernel and the loader. */
static void test_files_that_end_too_early(void **state)
{
    struct program program;
    char why[HM_PRELOADABLE_WHY];
    (void)state;
    check("/none", HM_PRELOADABLE, "");
    check("/", HM_PRELOADABLE, "");
    make(&program, own_loader, "libasan.so.8");
    for (size_t length = 0; length < offsetof(struct program, loader); length++)
        assert_int_not_equal(hm_preloadable(put("cut", &program, length), why), HM_PRELOADABLE_BREAKS);
}

/* Each word of the file that says where something is. */
static void test_wrong_places(void **state)
{
    static const uint64_t places[] = {0, 1, sizeof(struct program), INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
    char why[HM_PRELOADABLE_WHY];
    struct program program;
    (void)state;
    for (size_t at = sizeof(program.elf.e_ident); at < offsetof(struct program, names); at += sizeof(uint64_t))
        for (size_t i = 0; i < N_ROWS(places); i++) {
            make(&program, own_loader, "libm.so.6");
            memcpy((char *)&program + at, &places[i], sizeof(places[i]));
            (void)hm_preloadable(put("wrong", &program, sizeof(program)), why);
            assert_non_null(memchr(why, '\0', sizeof(why)));
        }
}

static void test_the_library_is_before_others(void **state)
{
    static const char *const rows[][2] = {{NULL, "/a.so"}, {"", "/a.so"}, {"/b.so /c.so", "/a.so:/b.so /c.so"}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (rows[i][0])
            setenv("LD_PRELOAD", rows[i][0], 1);
        assert_int_equal(hm_preloadable_put("/a.so", NULL), 0);
        assert_string_equal(getenv("LD_PRELOAD"), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),     cmocka_unit_test(test_our_loader_by_another_name),
        cmocka_unit_test(test_scripts),      cmocka_unit_test(test_files_that_end_too_early),
        cmocka_unit_test(test_wrong_places), cmocka_unit_test(test_the_library_is_before_others),
    };
    return cmocka_run_group_tests(tests, find_loader, scratch_drop);
}
