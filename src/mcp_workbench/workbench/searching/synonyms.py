"""Words that people and tools use for the same thing.

Owns a list of groups, one per line: vocabulary of software and of everyday tasks, in no order. A word may be
in several groups; it then means all of them. `terms` owns how much a synonym counts.
"""

from __future__ import annotations

from typing import Final

from mcp_workbench.workbench.searching.stems import stem

__all__ = ["synonyms"]

_GROUPS: Final = """
create add new make insert generate build
delete remove erase drop clear destroy purge
list show display browse enumerate view
count number total amount quantity
convert transform translate
sum plus addition total
mean average
favorite favourite star bookmark
enable activate
disable deactivate
large big
small little
presentation slides slide powerpoint deck
stock share equity ticker
buy purchase shop
random arbitrary
data dataset
city town
game gaming
exchange conversion forex
horoscope astrology zodiac
rename title label
get fetch retrieve read obtain load return
search find query lookup locate seek discover
update edit modify change set alter adjust
send post submit publish deliver
write save store put record
start launch run begin execute trigger invoke
stop end halt terminate kill cancel abort
open access visit navigate
close shut finish
copy duplicate clone replicate
move relocate transfer migrate
merge combine join unite concatenate
split divide separate
compare diff difference contrast
check verify validate test confirm
calculate compute evaluate determine
subtract minus subtraction
multiply times product multiplication
divide division quotient
sort order rank arrange
filter select narrow
analyze analysis analytics analyse examine inspect assess
summarize summary digest overview brief abstract
explain describe clarify description
suggest recommend recommendation advise propose advice
reserve book reservation booking appointment
sell sale
pay payment transaction checkout charge
refund reimburse
invoice bill receipt
subscribe subscription follow
upload import attach
download export save
install setup deploy
configure configuration settings preferences options config
lock secure protect
login signin authenticate authentication auth logon
logout signout
connect link attach join
disconnect detach unlink
watch monitor track observe follow
notify notification alert remind reminder
schedule plan calendar agenda
assign allocate delegate
approve accept confirm
reject decline deny
reply respond answer response
ask question query
forward redirect
comment note remark annotation
message text chat sms dm
email mail inbox
call phone dial telephone
meeting event appointment conference
contact person people friend
user account member profile
group team organization organisation org
company business firm corporation enterprise
customer client
employee staff worker personnel
job career position employment vacancy
task todo issue ticket item
project workspace
repository repo
pr pull merge
commit revision changeset
branch fork
bug defect error issue problem
log history journal
folder directory dir
file document doc
page site website web webpage
url link address uri
image picture photo photograph img
draw paint sketch illustrate
video movie film clip
audio sound music song
song track music tune
artist band musician singer
album record
play listen stream
speech voice speak talk
book novel reading literature
article post story blog
news headline headlines current
paper research publication study academic scholarly
weather forecast temperature climate rain
temperature degrees hot cold
location place position geolocation
map maps route directions geography
country nation
distance far length
nearby near around closest nearest
travel trip journey vacation holiday tourism
flight plane airline airport fly
train railway rail
car vehicle auto automobile
ride taxi cab
hotel accommodation lodging stay
restaurant dining food eat
recipe cook cooking meal dish
drink beverage
home house property apartment
price cost rate quote value
cheap discount deal coupon bargain offer
money currency cash
crypto cryptocurrency bitcoin coin token
invest investment portfolio
bank banking
tax taxes
product item goods
gift present
health medical medicine doctor
exercise workout fitness training
sport sports game match
score result standings
movie show series tv
learn study course education lesson teach
student pupil
school university college
language translate translation
word vocabulary dictionary term
definition meaning define
synonym thesaurus
grammar spelling proofread
joke humor funny
quote quotation
date day time
time clock hour timezone
latest recent newest
old previous past former history
top best popular trending
detail details information info
metadata properties attributes
database db sql
table sheet spreadsheet
row record entry
column field attribute
schema structure
key token secret credential password
password passphrase
code program source script snippet
programming coding development
function method procedure
variable parameter argument
package library dependency module
container docker
cluster kubernetes k8s
server host machine node instance
network ip
domain dns
api endpoint service
browser chrome
screenshot capture snapshot
click press tap
form survey questionnaire
chart graph plot diagram visualization visualize
report statement
statistic statistics stats metrics
template boilerplate
version release
backup snapshot
environment env
cache memory
remember memory recall
id identifier
tag label category
category genre topic type kind
pdf document
zip compress archive
encode encrypt encoding
decode decrypt decoding
hash checksum
parse extract scrape crawl
embed embedding vector semantic
ai model llm
prompt instruction
agent assistant bot
last final latest
dog puppy pet
cat kitten pet
"""

_table: dict[str, tuple[str, ...]] = {}


def synonyms(term: str) -> tuple[str, ...]:
    """Return the stems of other words for the same thing."""
    if not _table:
        _table.update(_read())
    return _table.get(term, ())


def _read() -> dict[str, tuple[str, ...]]:
    gathered: dict[str, dict[str, None]] = {}
    for line in _GROUPS.split("\n"):
        terms = [stem(word) for word in line.split()]
        for term in terms:
            gathered.setdefault(term, {}).update(dict.fromkeys(terms))
    return {term: tuple(other for other in others if other != term) for term, others in gathered.items()}
