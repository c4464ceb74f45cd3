"""What the field's common abbreviations stand for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from mcpctl.search.tokens import tokens

# The meanings of one are separated by a bar. Left out are those that are words too (cat, net, sec, pub), those that
# nobody spells out (http, json, url), and plurals, which are read as their singular.
_TABLE = """
    k8s kubernetes; kube kubernetes; ns namespace; svc service; cm configmap; deploy deployment; sts statefulset;
    ds daemonset | datasource; rs replicaset; hpa horizontal pod autoscaler; pv persistent volume;
    pvc persistent volume claim; sa service account; crd custom resource definition; cr custom resource; cj cronjob;
    po pod; rbac role based access control; tf terraform; iac infrastructure as code; cfn cloudformation;
    ctr container; vol volume; lb load balancer; vm virtual machine; vpc virtual private cloud;
    vpn virtual private network; vnet virtual network; sg security group; acl access control list;
    az availability zone | azure; cdn content delivery network; asg auto scaling group; ami machine image;
    ecs container service; ecr container registry; ec2 instance; gcs cloud storage; rds relational database;
    iam identity access management; kms key management; gcp google cloud; aws amazon; bq bigquery; cw cloudwatch;
    infra infrastructure; prod production | product; stg staging; env environment; inst instance;

    gh github; gl gitlab; bb bitbucket; pr pull request; mr merge request; repo repository; vcs version control;
    scm source control; ci continuous integration | pipeline; cd continuous deployment; e2e end to end;
    qa quality assurance; dep dependency; dev development | developer; pkg package; npm node package; lib library;
    impl implementation; src source; bin binary; cli command line; cmd command; cwd working directory;
    pwd password | working directory; exec execute; proc process; pid process id; arg argument; param parameter;
    var variable; func function; fn function; obj object; attr attribute; prop property; val value; num number;
    str string; int integer; bool boolean; arr array; dict dictionary; idx index; elem element; async asynchronous;
    sync synchronize; init initialize; util utility; tmp temporary; diff difference; cfg configuration | config;
    conf configuration | config; config configuration; pref preference; ver version; rev revision;
    regex regular expression; regexp regular expression; sdk development kit; ide development environment;
    gui user interface; ui user interface; js javascript; ts typescript | timestamp; py python; rb ruby; wf workflow;
    wip work in progress; todo task;

    db database; tbl table; col column; pk primary key; fk foreign key; sp stored procedure; pg postgres | postgresql;
    psql postgres | postgresql; postgres postgresql; postgresql postgres; mongo mongodb; es elasticsearch;
    mssql sql server; tx transaction; txn transaction; etl extract transform load; dwh data warehouse; df dataframe;
    xls excel; xlsx excel; ppt powerpoint | presentation; pptx powerpoint | presentation; docx word document;
    md markdown; txt text; yml yaml; doc document; del delete; rm remove | delete; mv move; cp copy; ls list;
    mkdir create directory; upd update; cnt count; qty quantity; amt amount; avg average; std standard deviation;
    stdev standard deviation; pct percent; calc calculate; gen generate; eval evaluate; conv convert;
    approx approximate; stat statistic; agg aggregate; viz visualization; temp temperature | temporary; freq frequency;
    dist distance; eqn equation; rnd random; rand random; seq sequence; mat matrix; vec vector;

    usr user; grp group; org organization; acct account; admin administrator; perm permission; priv privilege;
    auth authentication | authorization; authn authentication; authz authorization; sso single sign on;
    mfa multi factor authentication; 2fa two factor authentication; otp one time password; pw password;
    passwd password; cred credential; cert certificate; sig signature; vuln vulnerability; pii personal data;
    uid user id; addr address; tel telephone; dob date of birth; cust customer; emp employee; mgr manager;
    dept department; mgmt management; hr human resources; crm customer relationship management;
    erp enterprise resource planning; kb knowledge base; sla service level agreement; kpi performance indicator;
    inv invoice | inventory; desc description; descr description; spec specification; ref reference; req request;
    res response; resp response; err error; exc exception; warn warning; dbg debug; o11y observability;
    apm performance monitoring; hw hardware; sw software; os operating system; cpu processor; gpu graphics;
    mem memory | member; ram memory; fs file system; dir directory; perf performance; iface interface;
    nic network interface; dns domain name; fqdn domain name; conn connection; fw firewall; ws websocket;
    mq message queue; sub subscription; notif notification; evt event; sched schedule;

    msg message; dm direct message; sms text message; att attachment; cal calendar; appt appointment; mtg meeting;
    tz timezone | time zone; dt date; hrs hours; mins minutes; secs seconds; wk week; yr year; eta arrival;
    tmrw tomorrow; faq question; bday birthday; img image; pic picture | image; thumb thumbnail; vid video; yt youtube;
    ig instagram; fb facebook; tg telegram; hn hacker news; wp wordpress; wiki wikipedia; gdrive google drive;
    gcal google calendar; gmaps google maps; gsheets google sheets; gdocs google docs; vscode visual studio code;
    ocr text recognition; tts text to speech; stt speech to text; asr speech recognition; nlp natural language;
    ml machine learning; ai artificial intelligence; llm language model; kg knowledge graph;
    i18n internationalization | translation; l10n localization | translation; a11y accessibility; lang language;
    seo search engine optimization; ga google analytics; fx exchange rate; forex exchange rate; btc bitcoin;
    eth ethereum; mkt market; biz business; tech technology; wx weather; geo location; loc location; lat latitude;
    lon longitude; lng longitude; coord coordinate; nav navigation; poi point of interest | place; dest destination;
    info information; btn button; nb notebook; ipynb notebook; cms content management; hist history; prev previous;
    curr current | currency; misc miscellaneous; intl international; univ university; uni university; lic license;
    rec record; fav favorite; convo conversation; subj subject; tkt ticket; tix tickets;

    gha github actions; gcloud google cloud; ssh secure shell; sftp file transfer; srv server; svr server; ep endpoint;
    ctx context; tgt target; dst destination; len length; sz size; prio priority; sev severity; snap snapshot;
    bkp backup; bkup backup; mnt mount; bw bandwidth; ttl time to live; exp expiration | experiment; lbl label;
    cmt comment; chg change; trx transaction; bal balance; pmt payment; pymt payment; rcpt receipt; mbr member;
    chn channel; apt apartment | appointment; pax passenger; fcst forecast; precip precipitation; pop population;
    gov government; vocab vocabulary; crypto cryptocurrency; stk stock; pf portfolio; dup duplicate; dupe duplicate;
    ext extension; fmt format; kw keyword; lnk link; trans translate; tmpl template; tpl template; wkly weekly;
    xfer transfer;
"""


def long_forms(word: str) -> Sequence[str]:
    """What a word stands for, words or phrases, the likeliest first; empty if it is no abbreviation."""
    return _long_forms().get(word) or (_long_forms().get(word[:-1], ()) if word.endswith("s") and len(word) > 2 else ())


def short_forms(stems: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The abbreviations of the words and phrases of a text: the place in its stems where each begins, how many words it
    stands for, and the abbreviation."""
    forms = _short_forms()
    for place in [place for place, stem in enumerate(stems) if stem in forms]:
        for phrase, short in forms[stems[place]]:
            if tuple(stems[place : place + len(phrase)]) == phrase:
                yield place, len(phrase), short


@cache
def _long_forms() -> Mapping[str, Sequence[str]]:
    meanings: dict[str, list[str]] = defaultdict(list)
    for entry in " ".join(_TABLE.split()).strip(";").split("; "):
        short, _, stands_for = entry.partition(" ")
        meanings[short] += stands_for.split(" | ")
    return meanings


@cache
def _short_forms() -> Mapping[str, Sequence[tuple[tuple[str, ...], str]]]:
    shorts: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for short, stands_for in _long_forms().items():
        for phrase in map(tuple, map(tokens, stands_for)):
            shorts[phrase[0]].append((phrase, short))
    return shorts
