#!/usr/bin/env python3
"""Writes a manual page for each command, from what its parser says: manual_pages.py BLOB FOLDER."""
import json, os, subprocess, sys

program, folder = sys.argv[1:]
dump = subprocess.run([program, '--experimental-dump-help'], check=True, capture_output=True, text=True).stdout


def roff(text):
    """Returns text in which nothing is a request, and hyphens are those of a command line."""
    lines = (text or '').replace('\\', '\\e').replace('-', '\\-').split('\n')
    return '\n'.join('\\&' + line if line[:1] in ('.', "'") else line for line in lines)


def texts(argument):
    value = '' if argument['kind'] == 'flag' else f" \\fI{roff(argument.get('valueName') or 'value')}\\fR"
    names = [('--' if name['kind'] == 'long' else '-') + name['name'] for name in argument.get('names') or []]
    return ', '.join(f'\\fB{roff(name)}\\fR{value}' for name in names)


def synopsis(command, name):
    parts = []
    for argument in shown(command):
        if argument['kind'] == 'positional':
            text = f"\\fI{roff(argument.get('valueName') or 'value')}\\fR" + (' ...' if argument['isRepeating'] else '')
            parts.append(f'[{text}]' if argument['isOptional'] else text)
    options = '[\\fIoptions\\fR] ' if any(one['kind'] != 'positional' for one in shown(command)) else ''
    subcommand = '\\fIcommand\\fR ' if below(command) else ''
    return f"\\fB{roff(name)}\\fR {subcommand}{options}{' '.join(parts)}".rstrip()


def shown(command):
    """Returns all arguments but private ones; options that only `--help all` describes are included."""
    return [one for one in command.get('arguments') or [] if one['shouldDisplay'] or one['kind'] != 'positional']


def below(command):
    return [one for one in command.get('subcommands') or [] if one['shouldDisplay'] and one['commandName'] != 'help']


def write(command, above):
    name = ' '.join([*above, command['commandName']])
    page = name.replace(' ', '-')
    lines = [f'.TH {roff(page.upper())} 1', '.SH NAME', f"{roff(page)} \\- {roff(command.get('abstract'))}", '.SH SYNOPSIS',
             synopsis(command, name)]
    paragraphs = (command.get('discussion') or '').split('\n\n')
    examples = [one.split('\n', 1)[1] for one in paragraphs if one.startswith('EXAMPLES:\n')]
    description = [one for one in paragraphs if one and not one.startswith('EXAMPLES:')]
    if description:
        lines += ['.SH DESCRIPTION', '\n.PP\n'.join(map(roff, description))]
    titles = dict.fromkeys(one.get('sectionTitle') or 'Options' for one in shown(command) if one['kind'] != 'positional')
    for title in ['Arguments', *sorted(titles, key='Options'.__ne__)]:
        chosen = [one for one in shown(command) if title == (
            'Arguments' if one['kind'] == 'positional' else one.get('sectionTitle') or 'Options')]
        if chosen:
            lines.append(f'.SH {title.upper()}')
        for argument in chosen:
            names = texts(argument) or f"\\fI{roff(argument.get('valueName') or 'value')}\\fR"
            text = ' '.join(filter(None, [argument.get('abstract'), argument.get('discussion')]))
            default = argument.get('defaultValue')
            if default and 'default:' not in text:
                text += f' (default: {default})'
            lines += ['.TP', names, roff(text)]
    if examples:
        lines += ['.SH EXAMPLES', '.nf', *map(roff, examples), '.fi']
    if below(command):
        lines.append('.SH COMMANDS')
    for one in below(command):
        lines += ['.TP', f"\\fB{roff(name)} {roff(one['commandName'])}\\fR", roff(one.get('abstract'))]
        write(one, [*above, command['commandName']])
    others = [' '.join(above)] if above else [f"{name} {one['commandName']}" for one in below(command)]
    if others:
        lines += ['.SH SEE ALSO', *(f'.BR {roff(other.replace(" ", "-"))} (1)' for other in others)]
    with open(os.path.join(folder, f'{page}.1'), 'w') as file:
        file.write('\n'.join(lines) + '\n')


os.makedirs(folder, exist_ok=True)
write(json.loads(dump)['command'], [])
