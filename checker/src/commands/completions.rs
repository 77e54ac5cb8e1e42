//! `checker completions SHELL`: a script for the shell, with the names that there are in this
//! workspace.

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Arg, CommandFactory};
use clap_complete::Shell;
use simulator::profile::BuiltIn;

use crate::cli::Cli;
use crate::exercise;
use crate::exit::Exit;
use crate::explain;
use crate::print;
use crate::workspace::Workspace;

/// Writes the script to standard output.
pub(super) fn completions(shell: Shell) -> Result<Exit> {
    let places = Workspace::find().and_then(|workspace| exercise::all(&workspace));
    // Outside of a workspace there are no exercises to name, and the rest is worth having.
    // Clap takes names that live as long as the program, which ends here.
    let exercises: Vec<&'static str> =
        places.into_iter().flatten().map(|place| &*place.id.leak()).collect();
    let codes = explain::PAGES.iter().map(|page| page.code).collect();
    let profiles = BuiltIn::ALL.iter().map(|profile| profile.name()).collect();
    let mut command = Cli::command();
    for (argument, names) in [("exercise", exercises), ("code", codes), ("profile", profiles)] {
        if !names.is_empty() {
            command = named(command, argument, &names);
        }
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "checker", &mut script);
    if shell == Shell::Fish {
        script.extend_from_slice(standing_alone(&command).as_bytes());
    }
    print::out(&String::from_utf8_lossy(&script));
    Ok(Exit::Passed)
}

/// The part that clap's script for fish leaves out: the names of arguments that stand alone.
fn standing_alone(command: &clap::Command) -> String {
    let mut lines = String::new();
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        for argument in subcommand.get_positionals() {
            let names = argument.get_possible_values();
            let names: Vec<_> = names.iter().map(|name| name.get_name()).collect();
            if !names.is_empty() {
                lines.push_str(&format!(
                    "complete -c checker -n \"__fish_checker_using_subcommand {}\" -a \"{}\"\n",
                    subcommand.get_name(),
                    names.join(" ")
                ));
            }
        }
    }
    lines
}

/// Lets the argument of this name be completed to `names`, wherever a command has it.
fn named(command: clap::Command, argument: &str, names: &[&'static str]) -> clap::Command {
    command.mut_subcommands(|subcommand| {
        let has = subcommand.get_arguments().any(|it| it.get_id() == argument);
        if !has {
            return subcommand;
        }
        let names = PossibleValuesParser::new(names);
        subcommand.mut_arg(argument, |it: Arg| it.value_parser(names).hide_possible_values(true))
    })
}
