#!/usr/bin/env python3
"""Generates the manual pages from the help of the program.

    man_pages.py HELP.json FOLDER VERSION DATE     HELP.json is `talkie --experimental-dump-help`; DATE is 2026-01-31

One page for the program and one for each command; subcommands are described in the page of their command. Keys come from the guide to
films at home, exit statuses from README.md, so that they are written once.
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
README, GUIDE = ROOT / "README.md", ROOT / "docs/guides/sofa.md"

FILES = [
    ("~/.config/talkie/talkie.conf", "Options of {play}, one per line, applied before the command line."),
    ("~/.config/talkie/input.conf", "Custom key bindings."),
    ("~/.local/state/talkie/", "Keys and passwords of speakers, calibrations, resume positions. Accessible only to its owner."),
    ("/etc/talkie/", "Configurations of kiosks; an example is /usr/share/doc/talkie/examples/kiosk.toml."),
    ("/usr/libexec/talkie-ports",
     "Binds UDP ports 319 and 320, which PTP for AirPlay 2 speakers uses, for users without that permission."),
]
ENVIRONMENT = [
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "Replace ~/.config and ~/.local/state."),
    ("DISPLAY, WAYLAND_DISPLAY", "The display of the window."),
    ("http_proxy, no_proxy", "Proxy for web servers, and hosts without it."),
]


def escaped(text):
    """Text as roff prints it: a hyphen that can be copied, and no line that is taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def paragraphs(text):
    """A discussion: blank lines part paragraphs."""
    return "\n.PP\n".join(escaped(" ".join(part.split())) for part in re.split(r"\n\s*\n", text.strip()) if part.strip())


def title(path):
    return "-".join(path)


def spelling(name):
    return ("-" if name["kind"] in ("short", "longWithSingleDash") else "--") + name["name"]


def shown(command):
    return [argument for argument in command.get("arguments", []) if argument.get("shouldDisplay", True)]


def commands(command):
    return [one for one in command.get("subcommands", []) if one.get("shouldDisplay", True) and one["commandName"] != "help"]


def joined(arguments):
    """A flag and the flag that takes it back are one entry; their words are the same."""
    entries = []
    for argument in arguments:
        spellings = [spelling(name) for name in argument.get("names", [])]
        if entries and entries[-1][1] and argument["kind"] == "flag" and spellings == ["--no-" + entries[-1][1][0][2:]]:
            entries[-1][1].extend(spellings)
        else:
            entries.append((argument, spellings))
    return entries


def entry(argument, spellings):
    if argument["kind"] == "positional":
        head = italic(argument["valueName"]) + (" ..." if argument.get("isRepeating") else "")
    else:
        head = ", ".join(map(bold, spellings))
        if argument["kind"] == "option":
            head += " " + italic(argument["valueName"])
    words = [paragraphs(argument[key]) for key in ("abstract", "discussion") if argument.get(key)]
    default = argument.get("defaultValue")
    if default is not None:
        words.append(f"Default: {escaped(str(default))}.")
    return ".TP\n" + head + "\n" + "\n.IP\n".join(words or [""])


def entries(command):
    """A command's arguments without sections, and without those that every command has."""
    return "\n".join(entry(argument, spellings) for argument, spellings in joined(shown(command))
                     if not {"--help", "--version"} & set(spellings))


def options(command):
    """The sections of a command's arguments in the order of their first."""
    sections = {}
    for argument, spellings in joined(shown(command)):
        name = "Arguments" if argument["kind"] == "positional" else argument.get("sectionTitle", "")
        sections.setdefault(name, []).append(entry(argument, spellings))
    # What has no section comes last, as in the help.
    if "" in sections and len(sections) > 1:
        sections["Others"] = sections.pop("")
    return "\n".join((f".SS {escaped(name)}\n" if name else "") + "\n".join(rows) for name, rows in sections.items())


def usage(path, command):
    """One line of a synopsis."""
    words = [bold(" ".join(path))]
    if any(argument["kind"] != "positional" for argument in shown(command)):
        words.append("[" + italic("OPTION") + "]...")
    for argument in shown(command):
        if argument["kind"] == "positional":
            text = italic(argument["valueName"]) + ("..." if argument.get("isRepeating") else "")
            words.append(f"[{text}]" if argument.get("isOptional") else text)
    if commands(command):
        words.append(italic("COMMAND") + " ...")
    return " ".join(words)


def tagged(rows):
    return "\n".join(f".TP\n{head}\n{text}" for head, text in rows)


def plain(markdown):
    """A cell of a Markdown table as text: code without its marks, links as their words."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return escaped(re.sub(r"`([^`]*)`", r"\1", text).replace("**", "").strip())


def keys(guide):
    """The first table of keys in the guide to films at home."""
    table = re.search(r"^\| key \| does \|\n\| -.*\n((?:\|.*\n)+)", guide, re.M)
    rows = [re.split(r"(?<!\\)\|", line)[1:3] for line in table[1].splitlines()]
    return tagged((f"\\fB{plain(key)}\\fR", plain(does)) for key, does in rows)


def statuses(readme):
    """README's sentence of exit statuses: numbers and what they say."""
    sentence = re.search(r"Exit status:\s*(.*?)\.\s*$", readme, re.M | re.S)[1]
    rows = re.findall(r"(\d+(?: and \d+)?) ([^,]+)", " ".join(sentence.split()))
    return tagged((bold(number), escaped(text[0].upper() + text[1:] + ".")) for number, text in rows)


def page(path, command, version, date, others, readme, guide):
    abstract = command.get("abstract", "").rstrip(".")
    out = [f'.TH "{title(path).upper()}" 1 {date} "Talkie {version}" "User Commands"',
           ".SH NAME", f"{escaped(title(path))} \\- {escaped(abstract[:1].lower() + abstract[1:])}",
           ".SH SYNOPSIS", usage(path, command)]
    below = commands(command)
    inside = below if len(path) > 1 else []
    for one in inside:
        out += [".br", usage(path + [one["commandName"]], one)]
    out += [".SH DESCRIPTION", paragraphs(command.get("abstract", ""))]
    if command.get("discussion"):
        out += [".PP", paragraphs(command["discussion"])]
    if below and not inside:
        out += [".SH COMMANDS", tagged(
            (f"\\fB{escaped(title(path + [one['commandName']]))}\\fR(1)", escaped(one.get("abstract", ""))) for one in below)]
    if inside:
        out += [".SH COMMANDS"]
    for one in inside:
        out += [f".SS {escaped(one['commandName'])}", paragraphs(one.get("abstract", "")), entries(one)]
    if shown(command):
        out += [".SH OPTIONS", options(command)]
    if path[1:] == ["play"]:
        out += [".SH KEYS", keys(guide)]
    out += [".SH EXIT STATUS", statuses(readme),
            ".SH ENVIRONMENT", tagged((bold(name), escaped(text)) for name, text in ENVIRONMENT),
            ".SH FILES", tagged((italic(name), escaped(text.format(play="talkie play"))) for name, text in FILES),
            ".SH SEE ALSO", ",\n".join(f".BR {escaped(name)} (1)" for name in others if name != title(path)).replace(",\n", " ,\n"),
            ".PP", "Guides: " + italic("/usr/share/doc/talkie/guides/")]
    return "\n".join(out) + "\n"


def pages(dump, version, date):
    """Every page by its name."""
    readme, guide = README.read_text(), GUIDE.read_text()
    root = dump["command"]
    paths = [([root["commandName"]], root)] + [([root["commandName"], one["commandName"]], one) for one in commands(root)]
    others = [title(path) for path, _ in paths]
    return {title(path): page(path, command, version, date, others, readme, guide) for path, command in paths}


def main():
    dump, folder, version, date = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in pages(json.loads(Path(dump).read_text()), version, date).items():
        (Path(folder) / f"{name}.1").write_text(text)


if __name__ == "__main__":
    main()
