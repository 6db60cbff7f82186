// Returns the number of allocations of this process so far, on all threads. Linking this library replaces malloc and
// related functions.
unsigned long allocation_count(void);
