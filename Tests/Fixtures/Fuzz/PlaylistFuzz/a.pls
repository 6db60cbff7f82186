[playlist]
File2=b.mkv
Title2=Second
File1=a.mkv
NumberOfEntries=2
Version=2
