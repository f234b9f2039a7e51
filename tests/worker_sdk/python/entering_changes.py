"""What happens to an elastic loop that is held while workers of it are still about to train, in Python and C++."""

from gentle_changes import GentleAgent


class AskingAgent(GentleAgent):
    """Knows that a question was heard by the answer to another one right behind it, about the round before."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.refused = []  # ranks that do not train in the round before

    def heard(self, rank, message):
        if message["type"] == "holding" and message["round"] < self.round:
            assert message["step"] == -1, message
            self.refused.append(rank)
        else:
            super().heard(rank, message)

    def ask(self):
        """Returns when all workers have heard the question."""
        self.answers.append({})
        for number in (self.round, self.round - 1):
            self.say_to_all(type="hold", round=number)
        self.read_until(lambda: len(self.refused) == len(self.workers))

    def await_answers(self):
        self.read_until(lambda: len(self.answers[-1]) == self.count)


class EnteringChanges:
    """For a test that has Changes, GentleChanges and Records. The second world is held before it is whole."""

    def lose_rank_1_and_hold(self, agent, workers=2, **options):
        folder, failed, agent = self.train(workers, agent=agent, dies=[[1, 9]], where="before backward", **options)
        self.assertEqual(len(failed), 1)
        self.assert_replaced(agent, 1)
        self.assert_each_step_was_counted_once(agent, 20, range(workers))
        self.assert_stream(self.used(folder))
        return agent

    def test_who_is_held_before_it_has_entered_answers_when_it_trains(self):
        class Hasty(AskingAgent):
            """Asks all before any of them can be in the world, as one of them is started only then."""

            def replace(self, rank):
                self.change_at_once()
                self.ask()
                self.answered_at_once = dict(self.answers[-1])
                self.start(rank)

            def welcome(self, rank):
                if self.round == 2:
                    self.workers[rank].say(type="hold", round=2)
                super().welcome(rank)

            def has_to_change(self):
                return self.round == 2 and len(self.answers[-1]) == self.count

            def change(self):
                self.leave()
                self.enter()

        agent = self.lose_rank_1_and_hold(Hasty, workers=3)
        self.assertEqual((agent.answered_at_once, agent.round), ({}, 3))
        self.assertEqual((agent.answers, agent.limits), ([{0: 9, 1: 9, 2: 9}], [10]))
        self.assert_all_have_left_behind_the_limit(agent)

    def test_who_is_held_while_it_enters_answers_when_it_trains(self):
        class Early(AskingAgent):
            """Asks all when one of them takes its time for the state that it gets."""

            def has_to_change(self):
                return self.round == 2 and super().has_to_change()

            def change(self):
                self.ask()
                self.answered_at_once = dict(self.answers[-1])
                self.release(1)
                self.await_answers()
                self.leave()
                self.enter()

        agent = self.lose_rank_1_and_hold(Early, enters_late=1)
        self.assertNotIn(1, agent.answered_at_once)
        self.assertEqual((agent.answers, agent.limits, agent.round), ([{0: 9, 1: 9}], [10], 3))
        self.assert_all_have_left_behind_the_limit(agent)

    def test_who_owes_an_answer_and_is_told_to_leave_does_so_and_answers_nothing(self):
        class Changeable(AskingAgent):
            def replace(self, rank):
                self.change_at_once()
                self.ask()
                self.change_at_once()
                self.start(rank)

            def has_to_change(self):
                return False

        agent = self.lose_rank_1_and_hold(Changeable, workers=3)
        self.assertEqual((agent.answers, agent.round), ([{}], 3))
