// The player of docs/guides/tutorial.md: plays files one after the other, and takes changes of the list while it plays.
runPlayer(Array(CommandLine.arguments.dropFirst()))
