/*
 * The protocol of leases as a model for the checker spin; docs/leases.md explains it, `npm run model` checks it.
 *
 * One bucket, N gateways, small numbers. A tick of the clock refills one token. Messages to the store and its answers are lost, late and out of
 * order; gateways die, or wake up late. Time is counted down, so that the model has few states and runs for ever.
 *
 * Checked:
 *   law 1     admitted <= capacity + rate * d in every interval: `plain` is a bucket from which each token is taken when it is spent. It never lacks one.
 *   law 2     nobody is refused while the store has tokens that no lease holds.
 *   recovery  (with RECOVERS) a bucket that nobody asks is full after the longest lease and the time to fill it: no token is lost for ever.
 *   price     (with PRICE, where nothing is lost and nobody dies) the plain bucket has at most one share more than the store and the leases together.
 *
 * Each name in scripts/model/variants.mjs, defined, takes one part of the protocol away. The checker must find what goes wrong then. Beside a wrong
 * store the right one is told the same and answers nobody: `right` is what a trace prints.
 */
#ifndef N
#define N 2
#endif
#ifndef CAPACITY
#define CAPACITY 4
#endif
/* The ticks of a lease. It is also the longest one that the store accepts. */
#ifndef HORIZON
#define HORIZON 2
#endif

#ifdef WRONG_STORE
#define STORES 2
#else
#define STORES 1
#endif
#define right (STORES - 1)

#define min(a, b) ((a) < (b) -> (a) : (b))
#define max(a, b) ((a) > (b) -> (a) : (b))
#define less(a, b) ((a) > (b) -> (a) - (b) : 0)

typedef Store {
  byte missing; /* what the capacity has and the bucket has not: spent, or lent */
  byte lent[N]; /* to each gateway, and not known to be spent */
  byte end[N];  /* ticks until a lease is over */
}
Store store[STORES];
byte capacity = CAPACITY;
byte plain = CAPACITY;

/* What a gateway knows. */
typedef Gateway {
  byte hold;
  byte left;       /* ticks until it stops to spend */
  byte unreported; /* what it spent since it last sent a report: it can take this back */
  /* Its call, at most one under way. */
  byte call;
  byte holds;
  byte back;
  byte wants;
  byte callLeft; /* ticks left of what this call will be granted: counted from sending */
  byte granted;
  bool heard; /* of the edit */
}
Gateway gateway[N];

#define IDLE 0
#define ASKED 1
#define ANSWERED 2

/* One call that a gateway gave up, and that is still on its way. `overtaken`: the store has carried out a later one of the same gateway. */
bool isLate;
byte lateFrom;
byte lateHolds;
byte lateBack;
byte lateWants;
bool overtaken;
#ifdef TAKES_LATE_ANSWERS
byte lateGrant;
#endif

/* Whether a request took a token in this tick: it can be refunded before the token has come back by itself. */
bool fresh;
bool isEdited;

/* With RECOVERS: ticks since a gateway called or a request took. */
byte quiet;
#ifdef RECOVERS
#define noteActivity() quiet = 0
#define noteTick() quiet = min(quiet + 1, HORIZON + CAPACITY)
#else
#define noteActivity() skip
#define noteTick() skip
#endif

/* For within a step: 0 between steps, so that they are no part of a state. */
byte i;
byte s;
byte kept;
byte returned;
byte grant;
byte granted;

inline done() {
  i = 0;
  s = 0;
  kept = 0;
  returned = 0;
  grant = 0;
  granted = 0
}

/* What a gateway may still spend, and what it has said that it will not: also what is on its way. */
#define owns(g) (gateway[g].hold + (gateway[g].callLeft > 0 -> gateway[g].granted : 0))
#define returns(g) (gateway[g].call == ASKED -> gateway[g].back : 0)
#if N == 2
#define lentBy(s) (store[s].lent[0] + store[s].lent[1])
#define owned (owns(0) + owns(1))
#define returning (returns(0) + returns(1))
#else
#define lentBy(s) (store[s].lent[0] + store[s].lent[1] + store[s].lent[2])
#define owned (owns(0) + owns(1) + owns(2))
#define returning (returns(0) + returns(1) + returns(2))
#endif

#define level(s) (capacity - store[s].missing)
#define share (capacity / 2)

#ifdef NO_CEILING
#define ceiling(s) (s == right -> lentBy(s) : 0)
#else
#define ceiling(s) lentBy(s)
#endif

#ifdef UNBOUNDED_SHARE
#define shareLeft(s) (s == right -> less(share, lentBy(s)) : capacity)
#else
#define shareLeft(s) less(share, lentBy(s))
#endif

#ifdef UNBOUNDED_RETURN
#define returnable(s, told) (s == right -> min(told, store[s].lent[g] - kept) : min(told, store[s].missing))
#else
#define returnable(s, told) min(told, store[s].lent[g] - kept)
#endif

/* The sequence is kept with the lease, and goes with it. */
#ifdef NO_SEQUENCE
#define ignores(s) (wasLate && overtaken && store[s].lent[g] > 0 && s == right)
#else
#define ignores(s) (wasLate && overtaken && store[s].lent[g] > 0)
#endif

/*
 * A gateway says what it holds and what it gives back: all else of what it was lent is spent. Then it is lent what it wants, as far as there is. A call
 * that a later one has overtaken changes nothing.
 */
inline lend(g, told, given, wanted, wasLate) {
  s = 0;
  do
  :: s < STORES ->
     if
     :: ignores(s) -> grant = 0
     :: else ->
        kept = min(store[s].lent[g], told);
        returned = returnable(s, given);
#ifdef RETURN_IS_SPENT
        if :: s != right -> returned = 0 :: else fi;
#endif
        store[s].missing = store[s].missing - returned;
        store[s].lent[g] = kept;
        grant = min(wanted, min(level(s), shareLeft(s)));
        store[s].missing = store[s].missing + grant;
        store[s].lent[g] = kept + grant;
        store[s].end[g] = (store[s].lent[g] > 0 -> HORIZON : 0)
     fi;
     if :: s == 0 -> granted = grant :: else fi;
     s++
  :: else -> break
  od;
  noteActivity();
  printf("{\"do\":\"lend\",\"by\":%d,\"late\":%d,\"holds\":%d,\"givesBack\":%d,\"wants\":%d,\"granted\":%d,\"left\":%d,\"elsewhere\":%d}\n", g, wasLate, told, given,
    wanted, grant, level(right), lentBy(right) - store[right].lent[g])
}

/* A request passes. */
inline admit() {
  assert(plain > 0); /* law 1 */
  plain--
}

inline send(g, back_, wants_) {
  gateway[g].hold = gateway[g].hold - back_;
  gateway[g].holds = gateway[g].hold;
  gateway[g].back = back_;
  gateway[g].wants = wants_;
  gateway[g].callLeft = HORIZON;
  gateway[g].granted = 0;
#ifndef REFUNDS_AFTER_REPORT
  gateway[g].unreported = 0;
#endif
  gateway[g].call = ASKED;
  printf("{\"do\":\"call\",\"by\":%d}\n", g)
}

inline forget(g) {
  gateway[g].call = IDLE;
  gateway[g].holds = 0;
  gateway[g].back = 0;
  gateway[g].wants = 0;
  gateway[g].callLeft = 0;
  gateway[g].granted = 0
}

/* The call may still arrive. */
inline becomeLate(g) {
  isLate = true;
  lateFrom = g;
  lateHolds = gateway[g].holds;
  lateBack = gateway[g].back;
  lateWants = gateway[g].wants;
  overtaken = false;
  printf("{\"do\":\"giveUp\",\"by\":%d}\n", g);
  forget(g)
}

inline forgetLate() {
  isLate = false;
  lateFrom = 0;
  lateHolds = 0;
  lateBack = 0;
  lateWants = 0;
  overtaken = false
}

inline endLease(g) {
  gateway[g].hold = 0;
  gateway[g].left = 0;
  gateway[g].unreported = 0
}

inline receive(g) {
  if
#ifdef COUNTS_FROM_ANSWER
  :: true -> gateway[g].callLeft = HORIZON;
#else
  :: gateway[g].callLeft > 0 ->
#endif
     gateway[g].hold = gateway[g].hold + gateway[g].granted;
     gateway[g].left = (gateway[g].hold > 0 -> gateway[g].callLeft : 0);
     if :: gateway[g].hold == 0 -> gateway[g].unreported = 0 :: else fi
#ifndef COUNTS_FROM_ANSWER
  :: else
#endif
  fi;
  forget(g)
}

/* A tick: each bucket refills below its ceiling first, and then the leases that are over are counted as spent. */
inline tick() {
  s = 0;
  do
  :: s < STORES ->
     if :: store[s].missing > ceiling(s) -> store[s].missing-- :: else fi;
     i = 0;
     do
     :: i < N ->
#ifdef NEVER_ENDS
        if :: store[s].end[i] > 0 && s == right -> store[s].end[i]-- :: else fi;
#else
        if :: store[s].end[i] > 0 -> store[s].end[i]-- :: else fi;
#endif
        if
        :: store[s].end[i] == 0 ->
#ifdef LAPSE_IS_RETURNED
           if :: s != right -> store[s].missing = store[s].missing - store[s].lent[i] :: else fi;
#endif
           store[s].lent[i] = 0
        :: else
        fi;
        i++
     :: else -> break
     od;
     s++
  :: else -> break
  od;
  plain = min(plain + 1, capacity);
  fresh = false;
  noteTick();
  i = 0;
  do
  :: i < N ->
     gateway[i].callLeft = less(gateway[i].callLeft, 1);
#ifdef CLOCK_STOPS_IN_SUSPENSION
     if :: i > 0 -> gateway[i].left = less(gateway[i].left, 1) :: else fi;
#else
     gateway[i].left = less(gateway[i].left, 1);
#endif
#ifdef REVIVES_LEASES
     if :: gateway[i].left == 0 && gateway[i].call == IDLE -> endLease(i) :: else fi;
#else
     if :: gateway[i].left == 0 -> endLease(i) :: else fi;
#endif
     i++
  :: else -> break
  od;
  done();
  printf("{\"do\":\"tick\",\"left\":%d}\n", level(right))
}

/* With CALM nobody dies, and no operator fills the bucket: of ways that are drawn there would be little else. */
#ifdef PRICE
#define CALM
#endif

/* Without failures no call lasts longer than a tick, and each gateway renews or returns its lease in time. */
#ifdef PRICE
#define mayTick (gateway[0].call == IDLE && gateway[1].call == IDLE && !(gateway[0].left == 1 && gateway[0].hold > 0) && !(gateway[1].left == 1 && gateway[1].hold > 0))
#define mayFail false
#else
#define mayTick true
#define mayFail true
#endif

/* The generation of the bucket that a gateway knows is the store's. */
#define isCurrent(g) (!isEdited || gateway[g].heard)

/* Only the store refuses. */
#ifdef REFUSES_ALONE
#define refuses(g) (gateway[g].hold == 0)
#else
#define refuses(g) (gateway[g].hold == 0 && level(0) == 0)
#endif

/* Processes of gateways come first, so that a process's number is its gateway's. */
#define g _pid
#define self gateway[_pid]

active [N] proctype gateways() {
  do
  /* It calls: to report and be lent as much as there is, to report alone, to give one token back. */
  :: d_step { self.call == IDLE -> send(g, 0, CAPACITY / 2) }
  :: d_step { self.call == IDLE && self.left > 0 -> send(g, 0, 0) }
  :: d_step { self.call == IDLE && self.hold > 0 -> send(g, 1, 0) }
  :: d_step { /* its call arrives */
       self.call == ASKED ->
       if
       :: isCurrent(g) ->
          lend(g, self.holds, self.back, self.wants, 0);
          self.granted = granted;
          self.holds = 0;
          self.back = 0;
          self.wants = 0;
          self.call = ANSWERED;
          if :: isLate && lateFrom == g -> overtaken = true :: else fi;
          done()
       :: else -> forget(g)
       fi
     }
  :: d_step { self.call == ANSWERED -> receive(g) }
  :: d_step { mayFail && self.call != IDLE -> forget(g) } /* the call is lost, or its answer */
  :: d_step { mayFail && self.call == ASKED && !isLate && isCurrent(g) -> becomeLate(g) }
#ifdef TAKES_LATE_ANSWERS
  :: d_step { self.call == ANSWERED && lateGrant == 0 && g == 0 -> lateGrant = self.granted; forget(g) }
  :: d_step { g == 0 && lateGrant > 0 && self.left > 0 -> self.hold = self.hold + lateGrant; lateGrant = 0 }
#endif
  :: d_step { /* a request is admitted out of the lease, also out of one from before an edit that the gateway has not heard of */
       self.hold > 0 && self.left > 0 ->
       self.hold--;
       self.unreported = min(self.unreported + 1, capacity);
       admit();
       printf("{\"do\":\"spend\",\"by\":%d}\n", g)
     }
  :: d_step { /* a request is refunded to the lease that it was spent from, which nobody has been told of */
       self.unreported > 0 && self.left > 0 && isCurrent(g) ->
       self.unreported--;
       self.hold++;
       plain = min(plain + 1, capacity);
       printf("{\"do\":\"putBack\",\"by\":%d}\n", g)
     }
  :: d_step { refuses(g) -> assert(level(0) == 0) } /* law 2 */
#ifndef CALM
  :: d_step { endLease(g); forget(g) } /* it dies. What was lent to it stays lent until its end */
  :: d_step { self.call == ASKED && !isLate && isCurrent(g) -> endLease(g); becomeLate(g) }
#endif
#ifdef EDITS
  :: d_step { /* it hears of the edit: what it holds is void */
       isEdited && !self.heard ->
       self.heard = true;
       endLease(g);
       forget(g)
     }
#endif
  od
}

#undef g
#undef self

active proctype world() {
  do
  :: d_step { mayTick -> tick() }
  :: d_step { /* a late call arrives: after a later one it changes nothing */
       isLate ->
       if
       :: isCurrent(lateFrom) ->
          lend(lateFrom, lateHolds, lateBack, lateWants, 1);
          done()
       :: else
       fi;
       forgetLate()
     }
  :: d_step { isLate -> forgetLate() }
  :: d_step { /* a request takes from the store */
       level(0) > 0 ->
       s = 0;
       fresh = level(right) > 0;
       do :: s < STORES -> store[s].missing = min(store[s].missing + 1, capacity); s++ :: else -> break od;
       admit();
       noteActivity();
       done();
       printf("{\"do\":\"take\",\"passes\":%d,\"left\":%d}\n", fresh, level(right))
     }
  :: d_step { /* a request that took from the store is refunded at once */
       fresh ->
       fresh = false;
       s = 0;
       do :: s < STORES -> store[s].missing = max(less(store[s].missing, 1), lentBy(s)); s++ :: else -> break od;
       plain = min(plain + 1, capacity);
       done();
       printf("{\"do\":\"refund\",\"left\":%d}\n", level(right))
     }
#ifndef CALM
  :: d_step { /* an operator fills the bucket */
       s = 0;
       do
       :: s < STORES ->
#ifdef RESET_FORGETS
          store[s].missing = (s == right -> lentBy(s) : 0);
#else
          store[s].missing = lentBy(s);
#endif
          s++
       :: else -> break
       od;
       plain = capacity;
       fresh = false;
       done();
       printf("{\"do\":\"reset\",\"left\":%d}\n", level(right))
     }
#endif
#ifdef STEPS
  :: d_step { /* the clock of the store steps back by a tick */
       store[0].missing = min(store[0].missing + 1, capacity);
       i = 0;
       do
       :: i < N -> if :: store[0].lent[i] > 0 -> store[0].end[i] = min(store[0].end[i] + 1, HORIZON) :: else fi; i++
       :: else -> break
       od;
       done()
     }
#endif
#ifdef EDITS
  :: d_step { /* an edit halves the capacity, keeps the tokens as far as they fit, and keeps what is lent */
       !isEdited ->
       isEdited = true;
       capacity = CAPACITY / 2;
       plain = min(plain, capacity);
       s = 0;
       do
       :: s < STORES ->
          store[s].missing = less(store[s].missing, CAPACITY - capacity);
          i = 0;
          do
          :: i < N ->
#ifdef EDIT_FORGETS_LEASES
             if :: s != right -> store[s].lent[i] = 0 :: else fi;
#endif
             store[s].lent[i] = min(store[s].lent[i], capacity);
             i++
          :: else -> break
          od;
          store[s].missing = min(max(store[s].missing, lentBy(s)), capacity);
          s++
       :: else -> break
       od;
       fresh = false;
       done();
       printf("{\"do\":\"edit\",\"left\":%d}\n", level(right))
     }
#endif
#ifdef RECOVERS
  :: d_step { quiet == HORIZON + CAPACITY -> assert(store[0].missing == 0) }
#endif
#ifdef PRICE
  :: d_step { plain > level(0) + owned + returning + CAPACITY / 2 -> assert(false) }
#endif
  od
}
