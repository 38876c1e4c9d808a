# SPDX-License-Identifier: Apache-2.0
#
# Turns a page of generate-manual into mdoc without warnings, up to its exit status; packaging/parts appends the
# rest.

# The exit status is a section of its own.
/^Exit status:/ { next }
/^\.Sh "EXIT STATUS"/ { exit }

/^\.Dt / { print ".Dt NETFLAGS-" toupper(name) " 1"; next }
/^\.Sh / { section = $2; pending = ""; print; next }
/^\.Nm/ { print section == "NAME" ? ".Nm netflags-" name : ".Nm \"netflags " name "\""; next }
/^\.Nd / {
    text = substr($0, 5)
    gsub(/^"|\.?"$/, "", text)
    print ".Nd " tolower(substr(text, 1, 1)) substr(text, 2)
    next
}

# A paragraph begins where text follows.
/^$/ || /^\.Pp/ { pending = ".Pp"; next }
/^\./ { pending = ""; print; next }

{
    if (pending != "") print pending
    pending = ""
    gsub(/\\/, "\\e")
    # A hyphen of an option is a minus, which can be copied.
    $0 = " " $0
    gsub(/[ (`]--?[0-9a-z]/, "&\001")
    while (match($0, /--?[0-9a-z]\001/)) {
        option = substr($0, RSTART, RLENGTH - 1)
        gsub(/-/, "\\-", option)
        $0 = substr($0, 1, RSTART - 1) option substr($0, RSTART + RLENGTH)
    }
    # A sentence begins a line.
    while (match($0, /[.:;] +[A-Z`]/)) $0 = substr($0, 1, RSTART) "\n" substr($0, RSTART + RLENGTH - 1)
    count = split($0, sentences, "\n")
    for (i = 1; i <= count; i++) fold(sentences[i])
}

function fold(text,    words, n, i, line) {
    n = split(text, words, " ")
    line = words[1]
    for (i = 2; i <= n; i++) {
        if (length(line) + length(words[i]) >= 78) { print guarded(line); line = words[i] }
        else line = line " " words[i]
    }
    print guarded(line)
}

# A line of text must not begin like a request.
function guarded(line) { return line ~ /^[.']/ ? "\\&" line : line }
