runProbe()
