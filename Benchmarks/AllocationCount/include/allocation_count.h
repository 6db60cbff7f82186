// Allocations of this whole process so far, on all threads. Linking this in replaces malloc and its like.
unsigned long allocation_count(void);
