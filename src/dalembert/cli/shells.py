"""`dalembert completion`: scripts that make shells complete commands, options, and names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.answer import Answer
from dalembert.cli.app import command
from dalembert.cli.options import Json
from dalembert.cli.shown import line, writing
from dalembert.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

BASH = r"""# completion of dalembert for bash
_dalembert() {
    local IFS=$'\n' reply
    reply=$("$1" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null) || return
    COMPREPLY=($reply)
    # what ends like this is not finished
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:\<] ]]; then compopt -o nospace; fi
}
complete -F _dalembert dalembert
"""
ZSH = r"""#compdef dalembert
# completion of dalembert for zsh
_dalembert() {
    local answer word
    local -a words_now finished open shown_finished shown_open
    words_now=("${(@Q)words[2,CURRENT]}")
    for answer in "${(@f)$(${(Q)words[1]} __complete zsh "${words_now[@]}" 2>/dev/null)}"; do
        word=${answer%%$'\t'*}
        [[ -z $word ]] && continue
        local about=${answer#*$'\t'}
        if [[ $word == *[=/:\<] ]]; then
            open+=("$word"); shown_open+=("$word${about:+  -- $about}")
        else
            finished+=("$word"); shown_finished+=("$word${about:+  -- $about}")
        fi
    done
    (( $#finished )) && compadd -l -d shown_finished -a finished
    (( $#open )) && compadd -S '' -l -d shown_open -a open
}
if [[ $funcstack[1] == _dalembert ]]; then _dalembert "$@"; else compdef _dalembert dalembert; fi
"""
FISH = r"""# completion of dalembert for fish
function __dalembert_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    command $words[1] __complete fish $words[2..-1] "$current" 2>/dev/null
end
complete -c dalembert -f -a '(__dalembert_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def _place(shell: str) -> Path:
    """Where a shell looks for completions of its user."""
    try:
        home = Path.home()
    except RuntimeError:
        raise OptionError("--install: nobody knows where your home is; print the script in place of that") from None
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": data / "bash-completion" / "completions" / "dalembert",
        "zsh": data / "zsh" / "site-functions" / "_dalembert",
        "fish": settings / "fish" / "completions" / "dalembert.fish",
    }[shell]


def _hint(shell: str, place: Path) -> str:
    if shell == "zsh":
        return f"Put this into ~/.zshrc, before compinit: fpath=({place.parent} $fpath)"
    if shell == "bash":
        return (
            f"If new shells do not find it (they need the package bash-completion), put into ~/.bashrc: source {place}"
        )
    return "New shells have it."


@command(
    examples=(
        "dalembert completion bash --install",
        "dalembert completion zsh > _dalembert",
        "dalembert completion fish",
    )
)
def completion(
    shell: Annotated[
        str | None,
        typer.Argument(metavar="SHELL", show_default=False, help="bash, zsh or fish; default: as $SHELL says."),
    ] = None,
    install: Annotated[bool, typer.Option("--install", help="Write it to where this shell looks for it.")] = False,
    json: Json = False,
) -> Answer:
    """Let a shell complete commands, options, names of problems, methods, parameters, and files."""
    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SCRIPTS:
        from dalembert.model.namespace import explain_unknown

        raise OptionError(f"completion: {explain_unknown(shell, SCRIPTS)}")
    text = SCRIPTS[shell]
    place = _place(shell) if install else None
    if place is not None:
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")

    def show(console: Console) -> None:
        if place is not None:
            line(console, f"The completion for {shell} is in {place}\n{_hint(shell, place)}")
        else:
            console.file.write(text)

    return Answer({"shell": shell, "text": text, "files": {} if place is None else {"script": str(place)}}, show)
