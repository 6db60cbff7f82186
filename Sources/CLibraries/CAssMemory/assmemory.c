#define _GNU_SOURCE
#include "CAssMemory.h"
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Smaller blocks are never refused. libass 0.17.1 does not check the result of calloc for a token of a drawing
 * (40 bytes), nor of realloc for its lists of lines and events, which stay below 4 MB for the events of a ScriptPainter.
 */
enum { cam_min_refused_calloc = 256, cam_min_refused_realloc = 16 << 20 };

static _Thread_local cam_account *cam_active;

static bool cam_fits(size_t size) {
  if (!cam_active || (size <= cam_active->limit && cam_active->used <= cam_active->limit - size)) return true;
  cam_active->is_exhausted = true;
  return false;
}

static void *cam_counted(void *block) {
  if (cam_active && block) cam_active->used += malloc_usable_size(block);
  return block;
}

/* Saturates: libass also frees strings of strdup, which are not counted. */
static void cam_subtract(size_t size) {
  if (cam_active) cam_active->used -= size < cam_active->used ? size : cam_active->used;
}

static void *cam_malloc(size_t size) { return cam_fits(size) ? cam_counted(malloc(size)) : NULL; }

static void *cam_calloc(size_t count, size_t size) {
  size_t all;
  if (__builtin_mul_overflow(count, size, &all)) return NULL;
  return all < cam_min_refused_calloc || cam_fits(all) ? cam_counted(calloc(count, size)) : NULL;
}

static void *cam_realloc(void *block, size_t size) {
  if (size >= cam_min_refused_realloc && !cam_fits(size)) return NULL;
  size_t before = malloc_usable_size(block);
  void *result = realloc(block, size);
  if (result) cam_subtract(before);
  return cam_counted(result);
}

static void cam_free(void *block) {
  cam_subtract(malloc_usable_size(block));
  free(block);
}

/* ELF: writes the functions above to the slots of the library that contains `function`. */
static int cam_redirect(struct dl_phdr_info *library, size_t size, void *function) {
  (void)size;
  uintptr_t base = library->dlpi_addr, relro = 0, relro_end = 0;
  const ElfW(Dyn) *entry = NULL;
  bool is_it = false;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &library->dlpi_phdr[i];
    uintptr_t at = base + header->p_vaddr, end = at + header->p_memsz, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (header->p_type == PT_LOAD && (uintptr_t)function >= at && (uintptr_t)function < end) is_it = true;
    if (header->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)at;
    if (header->p_type == PT_GNU_RELRO) relro = at & ~(page - 1), relro_end = end & ~(page - 1);
  }
  if (!is_it || !entry) return 0;
  const ElfW(Rela) *tables[2] = {NULL, NULL};
  size_t sizes[2] = {0, 0};
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  for (; entry->d_tag != DT_NULL; entry++) {
    const void *at = (const void *)entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_JMPREL: tables[0] = at; break;
      case DT_PLTRELSZ: sizes[0] = entry->d_un.d_val; break;
      case DT_RELA: tables[1] = at; break;
      case DT_RELASZ: sizes[1] = entry->d_un.d_val; break;
      case DT_SYMTAB: symbols = at; break;
      case DT_STRTAB: names = at; break;
    }
  }
  if (!symbols || !names) return 1;
  /* The loader made the slots read-only (RELRO). */
  if (relro < relro_end && mprotect((void *)relro, relro_end - relro, PROT_READ | PROT_WRITE)) return 1;
  const struct { const char *name; void *function; } functions[] = {
      {"malloc", cam_malloc}, {"calloc", cam_calloc}, {"realloc", cam_realloc}, {"free", cam_free}};
  for (int table = 0; table < 2; table++) {
    for (size_t i = 0; tables[table] && i < sizes[table] / sizeof(ElfW(Rela)); i++) {
      const char *name = names + symbols[ELF64_R_SYM(tables[table][i].r_info)].st_name;
      for (int k = 0; k < 4; k++) {
        if (strcmp(name, functions[k].name)) continue;
        __atomic_store_n((void **)(base + tables[table][i].r_offset), functions[k].function, __ATOMIC_RELEASE);
      }
    }
  }
  if (relro < relro_end) mprotect((void *)relro, relro_end - relro, PROT_READ);
  return 1;
}

static void cam_install(void) {
  void *function = dlsym(RTLD_DEFAULT, "ass_render_frame");
  if (function) dl_iterate_phdr(cam_redirect, function);
}

void cam_use(cam_account *account) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, cam_install);
  cam_active = account;
}
