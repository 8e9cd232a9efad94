#!/bin/sh
# Dumps the database into a file of FOLDER, whole or not at all, and keeps the newest KEEP files. The server is where PGHOST, PGPORT, PGUSER and PGPASSWORD say.
set -eu
umask 077

cd "$FOLDER"
# Of a backup that was ended before.
rm -f coxswain-*.dump.new
name=coxswain-$(date -u +%Y%m%dT%H%M%SZ).dump
pg_dump --no-password --format custom --dbname "${DATABASE:-coxswain}" --file "$name.new"
# Reads the table of contents, and each piece of data until its end: a dump that was cut has neither.
pg_restore --file /dev/null "$name.new"
sync "$name.new"
mv "$name.new" "$name"
echo "$name: $(wc -c <"$name") bytes"

# Names begin with their time, so they sort by age.
ls -1 coxswain-*.dump | sort -r | tail -n "+$((KEEP + 1))" | while read -r old; do
  rm -- "$old"
  echo "$old: removed, because $KEEP newer ones are kept"
done
